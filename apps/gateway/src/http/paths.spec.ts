import { KnownRoutes } from './known-routes';
import { currentUrl, isForMessages } from './paths';

describe(currentUrl.name, () => {
  it.each([
    ['/v1/chat/completions', '/api/v1/chat/completions'],
    ['/v1/models?limit=1', '/api/v1/models?limit=1'],
    ['/v1', '/api/v1'],
    ['/v1?x', '/api/v1?x'],
    ['/v1/.well-known/x', '/.well-known/x'],
    ['/api/v1/.well-known/x', '/.well-known/x'],
    ['/api/beta/batches/x', '/api/v1/batches/x'],
    ['/v1/v1/messages', '/api/v1/v1/messages'],
  ])('leads %s to %s', (url, current) => {
    expect(currentUrl(url)).toBe(current);
  });

  it.each(['/v10/models', '/v1models', '/V1/models', '//v1/models', '/api/v1/models', '/api/beta/batchesx', '/', ''])(
    'leaves %s as it is',
    (url) => {
      expect(currentUrl(url)).toBe(url);
    },
  );
});

describe(KnownRoutes.name, () => {
  const routes = new KnownRoutes();
  for (const path of ['chat/completions', 'messages', 'models', 'models/user', 'models/:id', 'models/:author/:slug']) {
    routes.add('GET', `/api/v1/${path}`);
  }
  routes.add('GET', '/docs/:file');

  it.each([
    ['/api/v1/v1/messages', '/api/v1/messages'],
    ['/messages', '/api/v1/messages'],
    ['/api/messages', '/api/v1/messages'],
    ['/api/chat/completions', '/api/v1/chat/completions'],
    ['/api/v2/chat/completions', '/api/v1/chat/completions'],
    ['/api/v1/chat/completions/', '/api/v1/chat/completions'],
    ['//api//v1/Chat/Completions', '/api/v1/chat/completions'],
    ['/api/v1/api/v1/models', '/api/v1/models'],
    ['/models/user/', '/api/v1/models/user'],
    ['/api/v1/v1/models/gpt-4o', '/api/v1/models/{id}'],
    ['/models/openai/gpt-4o', '/api/v1/models/{author}/{slug}'],
    ['/api/v1/docs/x', '/docs/{file}'],
    ['/v1/message', '/api/v1/messages'],
    ['/api/v1/chat/completion', '/api/v1/chat/completions'],
    ['/v1/caht/compeltions', '/api/v1/chat/completions'],
    ['/api/v1/model/gpt-4o', '/api/v1/models/{id}'],
  ])('takes %s to be meant for %s', (path, meant) => {
    expect(routes.meantBy(path)).toBe(meant);
  });

  it.each([
    '/',
    '',
    '*',
    '/api',
    '/api/v1/',
    '/v1/v1',
    '/completions',
    '/chat',
    '/messages/x',
    '/massage',
    '/mode',
    '/sk-live-1',
    'ftp://h/messages',
  ])('takes %s to be meant for none', (path) => {
    expect(routes.meantBy(path)).toBeNull();
  });

  it('is soon done with a path of thousands of parts', () => {
    // Time of this process, so that a busy machine does not fail the test.
    const start = process.cpuUsage();
    expect(routes.meantBy('/api/v1/x'.repeat(100_000))).toBeNull();
    expect(process.cpuUsage(start).user).toBeLessThan(500_000);
  });
});

describe(isForMessages.name, () => {
  it.each([
    '/api/v1/messages',
    '/api/v1/messages?beta=true',
    '/api/v1/messages/count_tokens',
    '/api/v1/messages/batches/x',
    '/api/v1/v1/messages',
    '//messages/',
    '/api/messages',
    '/anthropic/v1/messages',
    '/anthropic/messages/count_tokens?beta=true',
  ])('holds for %s', (url) => {
    expect(isForMessages(url)).toBe(true);
  });

  it.each(['/api/v1/chat/messages', '/api/v1/messagesx', '/api/v1/models/messages', '/api/v1/models?x=/messages', '/'])(
    'does not hold for %s',
    (url) => {
      expect(isForMessages(url)).toBe(false);
    },
  );
});
