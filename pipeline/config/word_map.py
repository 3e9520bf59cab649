"""conf/word_map.yaml."""

from pydantic import Field

from pipeline.config.base import Count, OnModels, Positive, Text


class WordMap(OnModels):
    """conf/word_map.yaml."""

    plane: Text = Field(description="the network that is drawn, one with m = 2: its folder below `predictions`")
    drawn: Positive = Field(description="how many words are drawn, the most frequent")
    neighbours: Text = Field(description="the network whose nearest words are listed: its folder below `predictions`")
    words: list[Text] = Field(description="whose neighbours are listed")
    count: Positive = Field(description="how many neighbours of each")
    seen: Count = Field(description="how often training must show a word that is listed as neighbour")
