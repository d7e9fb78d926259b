/**
 * The value that has to be there for the rest of a test to make sense. Where it is missing, the failure points at the
 * line that wanted it.
 */
export function present<T>(value: T): NonNullable<T> {
  if (value !== null && value !== undefined) return value;
  const error = new Error(`a value has to be here, and it is ${String(value)}`);
  Error.captureStackTrace(error, present);
  throw error;
}
