/** Commands of an API's page: what is required has a value of the right form. */
import { expect, test } from 'vitest';
import { curlSample, type Trial, type Tried } from '../../src/web/curl-sample.ts';

const TRIED: Tried = {
  base: 'http://h',
  header: null,
  values: { secret: "it's" },
  schemas: {
    Id: { type: 'string' },
    Line: { type: 'object', properties: { id: { $ref: '#/x/Id' } }, required: ['id'] },
  },
};
const TRIAL: Trial = { method: 'GET', path: '/a', parameters: [], body: null, isStream: false };

test.each<[string, Partial<Trial>, Partial<Tried>, string]>([
  ['nothing but the address', {}, {}, `curl -sS 'http://h/a'`],
  ['a stream', { isStream: true }, {}, `curl -sSN 'http://h/a'`],
  ['a secret that the shell fills in', {}, { header: 'A: B $T' }, `curl -sS 'http://h/a' -H "A: B $T"`],
  [
    'parameters that are required',
    {
      path: '/a/{id}',
      parameters: [
        { name: 'id', in: 'path', required: true, schema: { type: 'integer', minimum: 7 } },
        { name: 'of', in: 'query', required: true, schema: { enum: ['x', 'y'] } },
        { name: 'not', in: 'query', schema: { type: 'string' } },
      ],
    },
    {},
    `curl -sS 'http://h/a/7?of=x'`,
  ],
  [
    'a body, with what is required of it',
    {
      method: 'POST',
      body: {
        type: 'application/json',
        schema: {
          type: 'object',
          properties: {
            lines: { type: 'array', items: { $ref: '#/x/Line' } },
            on: { type: 'boolean' },
            no: {},
          },
          required: ['lines'],
          oneOf: [{ required: ['on'] }, { required: ['no'] }],
        },
      },
    },
    {},
    `curl -sS 'http://h/a' -H 'Content-Type: application/json' -d '{"lines":[{"id":"1"}],"on":false}'`,
  ],
  [
    'a form',
    {
      method: 'POST',
      body: {
        type: 'application/x-www-form-urlencoded',
        schema: {
          type: 'object',
          properties: { secret: {}, kind: { const: 'k' } },
          required: ['secret', 'kind'],
        },
      },
    },
    {},
    String.raw`curl -sS 'http://h/a' --data-urlencode 'secret=it'\''s' --data-urlencode 'kind=k'`,
  ],
  ['no body', { method: 'POST' }, {}, `curl -sS -X POST 'http://h/a'`],
])('%s', (_what, trial, tried, expected) => {
  expect(curlSample({ ...TRIAL, ...trial }, { ...TRIED, ...tried })).toBe(expected);
});

test('a schema that contains itself ends', () => {
  const schemas = { Loop: { type: 'array', items: { $ref: '#/x/Loop' } } };
  const body = { type: 'application/json', schema: { $ref: '#/x/Loop' } };
  expect(curlSample({ ...TRIAL, method: 'POST', body }, { ...TRIED, schemas })).toContain('[[');
});
