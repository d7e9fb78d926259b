/** What some editors write before the first character of a file. It is no part of what the file says. */
export const BYTE_ORDER_MARK = /^\uFEFF/;
