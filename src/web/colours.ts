/** The colours of all pages, by use: each readable on its background, in light and dark mode. */
export const colours = `:root {
  color-scheme: light dark;
  --ground: #f5f6f8;
  --card: #ffffff;
  --text: #1b1f27;
  --quiet: #5d6673;
  --line: #dde1e7;
  --field: #ffffff;
  --field-line: #8a93a1;
  --accent: #2456d6;
  --on-accent: #ffffff;
  --good: #12713a;
  --good-ground: #dcf3e4;
  --bad: #a8201a;
  --bad-ground: #fde4e1;
  --odd: #7a4d00;
  --odd-ground: #fdeecb;
  --fresh: #fff3bf;
  --plot-a: #2456d6;
  --plot-b: #b35c00;
  --plot-c: #7a3fa0;
  --shadow: rgb(0 0 0 / 18%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12151b;
    --card: #1b2029;
    --text: #e6e9ef;
    --quiet: #9aa4b2;
    --line: #303845;
    --field: #12161d;
    --field-line: #6b7687;
    --accent: #7ba2ff;
    --on-accent: #0c1220;
    --good: #7fdca0;
    --good-ground: #163724;
    --bad: #ff9d94;
    --bad-ground: #47201d;
    --odd: #f3c969;
    --odd-ground: #3e3011;
    --fresh: #3a320f;
    --plot-a: #7ba2ff;
    --plot-b: #f0a658;
    --plot-c: #c79bea;
    --shadow: rgb(0 0 0 / 60%);
  }
}
`;
