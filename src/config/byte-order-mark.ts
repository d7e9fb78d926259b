/**
 * A byte order mark, which some editors write before the first character of a file. It is not part of the content.
 */
export const BYTE_ORDER_MARK = /^\uFEFF/;
