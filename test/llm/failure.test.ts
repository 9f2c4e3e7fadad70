import { describe, expect, it } from 'vitest';
import { failureFromBody, httpFailure, retryAfter } from '../../src/llm/failure.ts';
import { isTransient } from '../../src/llm/index.ts';

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

  it.each([
    [400, 'ValidationException', 'Input is too long for requested model.', 'context-too-long', false],
    [400, 'ValidationException', 'The provided model identifier is invalid.', 'unknown-model', false],
    [400, 'ValidationException', 'messages: at least one message is required', 'invalid-request', false],
    [400, 'ServiceQuotaExceededException', 'Your request exceeds the service quota', 'quota', false],
    [403, 'AccessDeniedException', "You don't have access to the model", 'auth', false],
    [403, 'ExpiredTokenException', 'The security token included in the request is expired', 'auth', false],
    [404, 'ResourceNotFoundException', 'Could not resolve the foundation model', 'unknown-model', false],
    [408, 'ModelTimeoutException', 'The model timed out', 'timeout', true],
    [424, 'ModelErrorException', 'The model returned an error', 'server', false],
    [429, 'ThrottlingException', 'Too many tokens, please wait before trying again.', 'rate-limit', true],
    [429, 'ModelNotReadyException', 'Model is not ready for inference', 'overloaded', true],
    [500, 'InternalServerException', 'unexpected error', 'server', true],
    [503, 'ServiceUnavailableException', 'try again', 'overloaded', true],
  ] as const)('%i %s of Amazon, "%s", is %s', (status, type, message, kind, retried) => {
    const headers = { 'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/` };
    // Some services write the name of the field in upper case.
    for (const body of [{ message }, { Message: message }]) {
      const classified = httpFailure(status, headers, JSON.stringify(body));
      expect(classified).toEqual({ kind, message, code: type, httpStatus: status });
      expect(isTransient(classified)).toBe(retried);
    }
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
    [{ error: { code: 'throttlingException', message: 'slower' } }, 'rate-limit'],
    [{ error: { code: 'modelStreamErrorException', message: 'oops' } }, 'server'],
    [{ error: { code: 'damaged_stream', message: 'a checksum' } }, 'malformed'],
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
