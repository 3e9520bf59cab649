"""What a user does with models: the console command `nplm`, one module for each verb.

A verb's help reads its module, so what is slow to import (pandas, scipy, torch, MLflow) is imported where it is used.
"""
