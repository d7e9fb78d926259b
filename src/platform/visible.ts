/** Control characters, line breaks and bidi marks: a terminal obeys them, and a reader is misled. */
const INVISIBLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Text of others, such as a SKU, for a terminal or a log line. The escapes are those of JSON. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A copy in which every text is visible. */
export function visibleIn<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_key, each: unknown) =>
    typeof each === 'string' ? visible(each) : each,
  ) as T;
}
