import { describe, expect, it } from 'vitest';
import { failureFromBody, httpFailure, retryAfter } from '../../src/llm/failure.ts';

const failure = (status: number, body: unknown) =>
  httpFailure(status, {}, typeof body === 'string' ? body : JSON.stringify(body));

describe('httpFailure', () => {
  it.each([
    [401, { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }, 'auth'],
    [401, { error: { message: 'Incorrect API key provided', code: 'invalid_api_key' } }, 'auth'],
    [400, { error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT' } }, 'auth'],
    [404, { error: "model 'nope' not found" }, 'unknown-model'],
    [404, { error: { message: 'The model `x` does not exist', code: 'model_not_found' } }, 'unknown-model'],
    [
      400,
      { error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8' } },
      'context-too-long',
    ],
    [
      400,
      {
        error: {
          message: "This model's maximum context length is 8 tokens",
          code: 'context_length_exceeded',
        },
      },
      'context-too-long',
    ],
    [
      400,
      { error: { message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).' } },
      'context-too-long',
    ],
    [429, { error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } }, 'quota'],
    [
      429,
      { error: { message: 'You exceeded your current quota', status: 'RESOURCE_EXHAUSTED' } },
      'rate-limit',
    ],
    [400, { error: { message: 'Your credit balance is too low to access the API' } }, 'quota'],
    [529, { error: { type: 'overloaded_error', message: 'Overloaded' } }, 'overloaded'],
    [503, [{ error: { message: 'overloaded', status: 'UNAVAILABLE' } }], 'overloaded'],
    [500, { detail: 'boom' }, 'server'],
    [422, { message: 'bad field' }, 'invalid-request'],
  ] as const)('%i %j is %s', (status, body, kind) => {
    expect(failure(status, body)).toMatchObject({ kind, httpStatus: status });
  });

  it("keeps the provider's own message and code", () => {
    expect(
      failure(400, { error: { message: 'temperature: too high', type: 'invalid_request_error' } }),
    ).toEqual({
      kind: 'invalid-request',
      message: 'temperature: too high',
      code: 'invalid_request_error',
      httpStatus: 400,
    });
  });

  it('converts an error page to truncated text', () => {
    const page = `<html><style>p{}</style><body><h1>502 Bad Gateway</h1>${'<p>nginx</p>'.repeat(100)}</body></html>`;
    const { message } = failure(502, page);
    expect(message).toMatch(/^502 Bad Gateway nginx/);
    expect(message.length).toBeLessThan(210);
  });

  it('falls back to the status if the response has no message', () => {
    expect(failure(500, '').message).toBe('HTTP 500');
  });
});

describe('failureIn', () => {
  it.each([
    [{ error: { type: 'overloaded_error', message: 'Overloaded' } }, 'overloaded'],
    [{ error: { type: 'overloaded_error', code: 'x-1305', message: 'busy' } }, 'overloaded'],
    [{ error: { code: 'rate_limit_exceeded', message: 'slower' } }, 'rate-limit'],
    [{ error: { code: 429, message: 'slower' } }, 'rate-limit'],
    [{ error: { message: 'Rate limit reached for requests' } }, 'rate-limit'],
    [{ error: 'server busy, please try again' }, 'overloaded'],
    [{ error: { message: 'something else' } }, 'provider'],
    [{ error: { code: 'insufficient_quota', message: 'rate limit' } }, 'quota'],
  ] as const)('%j is %s', (body, kind) => {
    expect(failureFromBody(body)).toMatchObject({ kind });
  });

  it.each([
    ['Please try again in 1.5s. Visit', 1500],
    ['Please try again in 20ms.', 20],
    ['retry after 3 seconds', 3000],
    ['Please try again later', undefined],
  ])('parses the retry delay from "%s"', (message, retryAfterMs) => {
    expect(failureFromBody({ error: { code: 'rate_limit_exceeded', message } }).retryAfterMs).toBe(
      retryAfterMs,
    );
  });
});

describe('retryAfter', () => {
  it('parses seconds, milliseconds and dates', () => {
    expect(retryAfter({ 'retry-after': '3' })).toBe(3000);
    expect(retryAfter({ 'retry-after': '0.5' })).toBe(500);
    expect(retryAfter({ 'retry-after-ms': '120', 'retry-after': '3' })).toBe(120);
    expect(retryAfter({ 'retry-after': 'Thu, 01 Jan 1970 00:00:10 GMT' }, 4000)).toBe(6000);
    expect(retryAfter({ 'retry-after': 'Thu, 01 Jan 1970 00:00:10 GMT' }, 40_000)).toBe(0);
    expect(retryAfter({ 'retry-after': 'soon' })).toBeUndefined();
    expect(retryAfter({})).toBeUndefined();
  });
});
