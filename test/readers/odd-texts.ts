/** Texts that some database, JSON reader or terminal treats in its own way. */
export const ODD_TEXTS: readonly string[] = [
  'a\u0000b',
  '\u0000',
  'half \ud800 of a character',
  '\udc00 the other half',
  'wrong order \udfff\ud83d',
  'four bytes 😀𠜎',
  'bidi \u202e\u2066 abc \u2069',
  'zero width \u200b\u200d\ufeff',
  'combined เสื้อ é n\u0303',
  `quotes ' '' " \` \\ \\\\ $$ $1 %s {} ;--`,
  'lines \r\n\u2028\u2029\u0085 and \ttabs',
  'controls \u0001\u001b[31m\u007f\u009f',
  '<b>&amp;</b>',
  '=1+1',
  '  blank at both ends  ',
  'NULL',
  `long ${'ก'.repeat(10_000)}`,
];

export const ODD_NUMBERS: readonly number[] = [
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  0,
  -1,
  2 ** 31,
  -(2 ** 31) - 1,
];
