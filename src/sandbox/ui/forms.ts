import { html } from 'hono/html';
import { z } from 'zod';
import type { Html } from '../../web/html.ts';
import { parseFields } from '../api/request-body.ts';

interface Field {
  readonly path: string;
  readonly label: string;
  readonly schema: z.ZodType;
}

function fieldsOf(schema: z.ZodObject, prefix = ''): Field[] {
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, each]) => {
    const inner = each instanceof z.ZodOptional ? (each.unwrap() as z.ZodType) : each;
    const path = prefix + name;
    if (inner instanceof z.ZodObject) return fieldsOf(inner, `${path}.`);
    if (inner instanceof z.ZodArray) return [];
    return [{ path, label: each.description ?? inner.description ?? path, schema: inner }];
  });
}

export function fieldsView(schema: z.ZodObject, values: object, typed: URLSearchParams | undefined): Html {
  const input = ({ path, label, schema: of }: Field): Html => {
    const value = path
      .split('.')
      .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], values);
    if (of instanceof z.ZodBoolean) {
      const checked = (typed?.has(path) ?? value === true) ? html`checked` : '';
      return html`<label><input type="checkbox" name="${path}" ${checked} /> ${label}</label>`;
    }
    const mode = of instanceof z.ZodNumber ? 'decimal' : 'url';
    return html`<label
      >${label} <input name="${path}" value="${typed?.get(path) ?? String(value)}" inputmode="${mode}"
    /></label>`;
  };
  return html`<div class="fields">${fieldsOf(schema).map(input)}</div>`;
}

/** @returns the form as a body of the control API. @throws ApiError 400 that names the wrong field. */
export function bodyOf(schema: z.ZodObject, form: URLSearchParams): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { path, schema: of } of fieldsOf(schema)) {
    if (!(of instanceof z.ZodBoolean) && !form.has(path)) continue;
    const [first = '', second] = path.split('.');
    const typed =
      of instanceof z.ZodBoolean
        ? form.has(path)
        : of instanceof z.ZodNumber
          ? numberIn(form, path)
          : textIn(form, path);
    body[first] = second === undefined ? typed : { ...(body[first] as object | undefined), [second]: typed };
  }
  return parseFields(schema, body);
}

export function textIn(form: URLSearchParams, name: string): string {
  return form.get(name)?.trim() ?? '';
}

export function numberIn(form: URLSearchParams, name: string): number {
  const text = textIn(form, name);
  return text === '' ? NaN : Number(text);
}
