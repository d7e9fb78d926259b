/** Forms generated from the schemas of the control API. */
import { html } from 'hono/html';
import { z } from 'zod';
import type { Html } from '../../web/html.ts';
import { describe } from '../api/request-body.ts';
import { ApiError } from '../shared/errors.ts';

type Values = Readonly<Record<string, unknown>>;

interface Field {
  /** `fail.server_error` */
  readonly path: string;
  readonly label: string;
  readonly value: unknown;
}

/** One field for each text, number and switch of the schema; lists have none. */
function fieldsOf(schema: z.ZodObject, values: Values, prefix = ''): Field[] {
  return Object.entries<z.core.$ZodType>(schema.shape).flatMap(([name, each]) => {
    const inner = each instanceof z.ZodOptional ? each.unwrap() : each;
    const value = values[name];
    const path = prefix + name;
    if (inner instanceof z.ZodObject) return fieldsOf(inner, value as Values, `${path}.`);
    const label = (each as z.ZodType).description ?? (inner as z.ZodType).description ?? path;
    return Array.isArray(value) ? [] : [{ path, label, value }];
  });
}

/** @param typed the form as it was refused, to show it again. */
export function fieldsView(schema: z.ZodObject, values: Values, typed: URLSearchParams | undefined): Html {
  const input = ({ path, label, value }: Field): Html => {
    if (typeof value === 'boolean') {
      const checked = (typed?.has(path) ?? value) ? html`checked` : '';
      return html`<label class="check"><input type="checkbox" name="${path}" ${checked} /> ${label}</label>`;
    }
    const mode = typeof value === 'number' ? 'decimal' : 'url';
    const now = typed?.get(path) ?? String(value);
    return html`<label>${label} <input name="${path}" value="${now}" inputmode="${mode}" /></label>`;
  };
  return html`<div class="fields">${fieldsOf(schema, values).map(input)}</div>`;
}

/** The posted form as a body of the control API. Throws ApiError 400 that names the wrong field. */
export function bodyOf<Schema extends z.ZodObject>(schema: Schema, values: Values, form: URLSearchParams) {
  const body: Record<string, unknown> = {};
  for (const { path, value } of fieldsOf(schema, values)) {
    const [first = '', second] = path.split('.');
    const typed =
      typeof value === 'boolean'
        ? form.has(path)
        : typeof value === 'number'
          ? numberIn(form, path)
          : textIn(form, path);
    body[first] = second === undefined ? typed : { ...(body[first] as object | undefined), [second]: typed };
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new ApiError(400, 'invalid_request', describe(parsed.error));
}

export function textIn(form: URLSearchParams, name: string): string {
  return form.get(name)?.trim() ?? '';
}

/** NaN for anything else than a number. */
export function numberIn(form: URLSearchParams, name: string): number {
  const text = textIn(form, name);
  return text === '' ? NaN : Number(text);
}
