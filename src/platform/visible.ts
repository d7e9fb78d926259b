/** Control characters, line breaks and bidi marks: terminals obey them, and they mislead readers. */
const INVISIBLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

export function visible(text: string): string {
  return text.replace(INVISIBLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function visibleIn<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_key, each: unknown) =>
    typeof each === 'string' ? visible(each) : each,
  ) as T;
}
