import { describe, expect, it } from 'vitest';
import { BROWSER, startBrowser } from '../../browser.ts';
import { raw, tasksFixture } from './fixture.ts';

const FILES = {
  '/reference': 'text/html',
  '/reference/reference.css': 'text/css',
  '/reference/reference.js': 'application/javascript',
};

describe('the reference page', () => {
  it.each(Object.entries(FILES))(
    '%s is served without a key, and allows only code of this agent',
    async (path, type) => {
      const { door } = await tasksFixture([]);
      const response = await fetch(`${door().url}${path}`);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toContain(type);
      expect(response.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'/,
      );
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(await response.text()).not.toBe('');
    },
  );

  it('opens no other file, no other method and no data', async () => {
    const { door, bare } = await tasksFixture([]);
    const paths = [
      '/reference/',
      '/reference/index.html',
      '/reference/../package.json',
      '/reference/%2e%2e/package.json',
      '/reference/..%2fpackage.json',
      '/package.json',
      '/openapi.json',
    ];
    for (const path of paths) expect([path, (await bare().get(path)).status]).toEqual([path, 401]);
    expect((await bare().post('/reference', {})).status).toBe(401);
    expect((await fetch(`${door().url}/reference`, { method: 'HEAD' })).status).toBe(200);
  });

  it('is refused for another host name, and limited for an address', async () => {
    const { door } = await tasksFixture([], {
      tasks: { limits: { unauthenticated: { perMinute: 1, burst: 3 } } },
    });
    const foreign = await raw(
      door().url,
      'GET /reference HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    );
    expect(foreign).toMatch(/^HTTP\/1\.1 4\d\d/);
    expect(foreign).not.toContain('<html');
    const seen: number[] = [];
    for (let sent = 0; sent < 4; sent += 1) seen.push((await fetch(`${door().url}/reference`)).status);
    expect(seen).toContain(429);
  });

  it.skipIf(BROWSER === undefined)(
    'describes every request in a browser, and reports a wrong key',
    { timeout: 120_000 },
    async () => {
      const { door, key } = await tasksFixture([]);
      const page = await (await startBrowser()).newPage();
      const problems: string[] = [];
      page.on('pageerror', (error) => problems.push(error.message));
      page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
      await page.goto(`${door().url}/reference`);
      await page.fill('#key', key());
      await page.click('button');
      await page.waitForSelector('#submitTask');
      expect(await page.locator('#requests article').count()).toBeGreaterThan(10);
      expect(await page.locator('#submitTask').innerText()).toContain('SubmitRequest');
      await page.fill('#filter', 'cancelTask');
      expect(await page.locator('#requests article:visible h2').allInnerTexts()).toEqual([
        'POST /tasks/{taskId}/cancel',
      ]);
      expect(problems).toEqual([]);

      await page.reload();
      await page.fill('#key', 'ppk_wrong');
      await page.click('button');
      await page.waitForSelector('#status.failed');
      expect(await page.locator('#status').innerText()).toMatch(/key/);
    },
  );
});
