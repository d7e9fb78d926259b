import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi';
import type { ResponseConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { STOCK_AVAILABLE_UPDATED } from '../../store-api/contract/schemas.ts';
import { errorAnswer, stockAvailableUpdated, tokenAnswer } from '../world/answers.ts';
import type { DocumentedErrors, Endpoint } from './endpoints.ts';
import type { ErrorStatus } from '../shared/errors.ts';
import { tokenRequestSchema } from './oauth.ts';

type OpenApiDocument = ReturnType<OpenApiGeneratorV31['generateDocument']>;

const MEANINGS: Readonly<Record<ErrorStatus, string>> = {
  400: 'The request is wrong; `error_description` names the field',
  401: 'The credentials or the access token are not valid',
  403: 'The channel is not allowed to do this for its store',
  404: 'Not found, for this caller: every miss gets the same answer',
  413: 'The body is over 1 MB',
  429: 'Too many token requests, or too many failed ones',
  500: 'Something failed in the store: try again',
};
const EVERYWHERE: DocumentedErrors = { 413: ['invalid_request'], 500: ['server_error'] };
const EVERY_V1: DocumentedErrors = { 400: ['invalid_request'], 401: ['invalid_token'], ...EVERYWHERE };
const TOKEN_ERRORS: DocumentedErrors = {
  400: ['invalid_request', 'unsupported_grant_type'],
  401: ['invalid_client'],
  429: ['slow_down'],
  ...EVERYWHERE,
};

const BEARER = 'accessToken';
const description = `What a partner system may do with one store.

Changes are additive only: new fields, event types and reason codes may appear at any time. In a request, a field that
is null counts as absent; unknown fields are refused. Answers omit fields that a record does not have.`;

const requestHeaders = z.object({
  'X-Request-Id': z.string().optional().meta({ description: 'Returned as the id of the request.' }),
});
const answerHeaders = z.object({
  'X-Request-Id': z.string().meta({ description: 'The id of the request: the one it sent, or a new one.' }),
});
const slowDownHeaders = answerHeaders.extend({
  'Retry-After': z.int().min(0).meta({ description: 'Seconds.' }),
});
const webhookHeaders = z.object({
  'X-Service-Signature': z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .meta({ description: 'HMAC-SHA256 over the raw body, keyed with the webhook secret, as lowercase hex.' }),
  'User-Agent': z.literal('service-webhook/1.0'),
});

export function describeService(endpoints: readonly Endpoint[]): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  registry.registerComponent('securitySchemes', BEARER, {
    type: 'http',
    scheme: 'bearer',
    description: 'From POST /oauth/token. It identifies the channel, and the channel the store.',
  });

  registry.registerPath({
    method: 'post',
    path: '/oauth/token',
    operationId: 'token',
    summary: 'Gets an access token',
    security: [],
    request: {
      headers: requestHeaders,
      body: {
        required: true,
        content: { 'application/x-www-form-urlencoded': { schema: tokenRequestSchema } },
      },
    },
    responses: { 200: answered('An access token', tokenAnswer), ...errors(TOKEN_ERRORS) },
  });

  for (const { path, summary, schema, bodyOptional, answers, errors: own } of endpoints) {
    registry.registerPath({
      method: 'post',
      path,
      operationId: operationIdOf(path),
      summary,
      security: [{ [BEARER]: [] }],
      request: {
        headers: requestHeaders,
        body: { required: bodyOptional !== true, content: { 'application/json': { schema } } },
      },
      responses: { 200: answered('Success', answers), ...errors({ ...EVERY_V1, ...own }) },
    });
  }

  registry.registerWebhook({
    method: 'post',
    path: STOCK_AVAILABLE_UPDATED,
    operationId: 'stockAvailableUpdated',
    summary: 'The available quantity of variants changed',
    description: 'Sent once, to the webhook URL of the app; deliveries can arrive out of order.',
    security: [],
    request: {
      headers: webhookHeaders,
      body: { required: true, content: { 'application/json': { schema: stockAvailableUpdated } } },
    },
    responses: { '2XX': { description: 'Acknowledges the delivery, if it arrives within one second' } },
  });

  return nullMeansAbsent(
    new OpenApiGeneratorV31(registry.definitions).generateDocument({
      openapi: '3.1.0',
      info: { title: 'Order and Catalogue Service API', version: '1.0.0', description },
    }),
  );
}

function answered(meaning: string, schema: z.ZodObject): ResponseConfig {
  return { description: meaning, headers: answerHeaders, content: { 'application/json': { schema } } };
}

function errors(documented: DocumentedErrors): Record<string, ResponseConfig> {
  return Object.fromEntries(
    Object.entries(documented).map(([status, codes]) => [
      status,
      {
        description: MEANINGS[Number(status) as ErrorStatus],
        headers: status === '429' ? slowDownHeaders : answerHeaders,
        content: {
          'application/json': { schema: errorAnswer.and(z.looseObject({ error: z.enum(codes) })) },
        },
      },
    ]),
  );
}

function operationIdOf(path: string): string {
  return path.replace('/v1/', '').replaceAll(/\/([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Allows null where a request may omit a field ("Conventions" 4). Only request objects refuse unknown fields. */
function nullMeansAbsent<T>(part: T): T {
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
