// A click on a column's head sorts its table by that column: numbers by size, cells with two by the first, empty ones last.
const words = new Intl.Collator("en", {numeric: true});
for (const head of document.querySelectorAll("thead th")) {
  const button = document.createElement("button");
  button.append(...head.childNodes);
  head.append(button);
  button.onclick = () => {
    const back = head.ariaSort === "ascending";
    for (const other of head.parentNode.cells) other.ariaSort = null;
    head.ariaSort = back ? "descending" : "ascending";
    const body = head.closest("table").tBodies[0];
    const text = row => row.cells[head.cellIndex].textContent.trim().replace(/,(?=\d{3})/g, "");
    const [full, empty] = [[], []];
    for (const row of body.rows) (text(row) ? full : empty).push(row);
    const numbers = !full.some(row => isNaN(parseFloat(text(row))));
    const order = (one, two) => numbers ? parseFloat(one) - parseFloat(two) : words.compare(one, two);
    full.sort((one, two) => order(text(one), text(two)) * (back ? -1 : 1));
    body.append(...full, ...empty);
  };
}
