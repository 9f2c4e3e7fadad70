import { describe, expect, it } from 'vitest';
import {
  isDecodable,
  isPath,
  methodsAt,
  refuseOtherSpelling,
} from '../../../src/protocols/tasks/http/route-path.ts';
import { ROUTES } from '../../../src/protocols/tasks/routes.ts';

describe('the target of a request', () => {
  it.each(['/tasks', '/tasks/a%2Fb/status', '//host/status', '/tasks/../../status', '/', '/a?b=/c\\'])(
    'is a path: %s',
    (target) => expect(isPath(target)).toBe(true),
  );

  it.each([
    'http://host/status',
    '*',
    'status',
    '',
    '/tasks\\..',
    '/a%2',
    '/a%zz',
    '/a#b',
    '/a b',
    '/\u00e4',
  ])('is not a path: %s', (target) => expect(isPath(target)).toBe(false));

  it('is decodable if its escapes are UTF-8', () => {
    expect([isDecodable('/a%2Fb'), isDecodable('/a%ff'), isDecodable('/a?b=%ff')]).toEqual([
      true,
      false,
      true,
    ]);
  });
});

describe('the path of a route', () => {
  it('has one spelling', () => {
    const spelled = (url: string, id: string) => () => refuseOtherSpelling(url, '/tasks/{taskId}/status', id);
    expect(spelled('/tasks/a%2Fb/status', 'a/b')).not.toThrow();
    expect(spelled('/tasks/a/status?b=%20', 'a')).not.toThrow();
    for (const [url, id] of [
      ['/tas%6bs/a/status', 'a'],
      ['/tasks/a/st%61tus', 'a'],
      ['/tasks/%2e%2E/status', '..'],
      ['/tasks/./status', '.'],
      ['/tasks//status', ''],
    ] as const)
      expect(spelled(url, id)).toThrow('no route for');
  });

  it('returns the methods that it supports', () => {
    expect(methodsAt(ROUTES, '/tasks')).toEqual(['GET', 'HEAD']);
    expect(methodsAt(ROUTES, '/submit_task')).toEqual(['POST']);
    expect(methodsAt(ROUTES, '/tasks/x/status')).toEqual(['GET', 'HEAD']);
    for (const path of ['/', '/Tasks', '/tasks/', '/tasks/x/status/y', '/openapi_json'])
      expect(methodsAt(ROUTES, path)).toEqual([]);
  });
});
