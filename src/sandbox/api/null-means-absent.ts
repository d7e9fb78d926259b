/**
 * The document with null allowed where a request may omit a field: the two mean the same ("Conventions" 4). Request
 * objects are recognized by refusing unknown fields; only they do.
 */
export function nullMeansAbsent<T>(part: T): T {
  if (Array.isArray(part)) return part.map(nullMeansAbsent) as T;
  if (!isRecord(part)) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, nullMeansAbsent(inner)]));
  const { properties, required = [] } = copy;
  if (copy['additionalProperties'] === false && isRecord(properties)) {
    copy['properties'] = Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [
        name,
        (required as readonly string[]).includes(name) ? schema : { anyOf: [schema, { type: 'null' }] },
      ]),
    );
  }
  return copy as T;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
