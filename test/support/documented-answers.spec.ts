import { judgeAnswer } from './documented-answers';

const answerOf = (data: object): string => JSON.stringify({ data });
const CREDITS = { total_credits: 5, total_usage: 0.5 };

describe(judgeAnswer, () => {
  it('takes an answer that the document describes', () => {
    expect(() => judgeAnswer('GET', '/api/v1/credits?x=1', 200, answerOf(CREDITS))).not.toThrow();
  });

  it.each([
    ['a field that is not declared', '/api/v1/credits', 200, answerOf({ ...CREDITS, secret: 'x' }), 'secret'],
    ['a field that is missing', '/api/v1/credits', 200, answerOf({ total_usage: 1 }), 'total_credits'],
    [
      'a field of another type',
      '/api/v1/credits',
      200,
      answerOf({ ...CREDITS, total_usage: '1' }),
      '/data/total_usage',
    ],
    ['a status that is not declared', '/api/v1/credits', 202, answerOf(CREDITS), 'status'],
    ['an error of another shape', '/api/v1/keys/x', 404, '{"error":"gone"}', '/error'],
  ])('refuses %s', (_what, path, status, text, named) => {
    expect(() => judgeAnswer('GET', path, status, text)).toThrow(named);
  });

  it('takes further fields where the document allows them', () => {
    const completion = { id: 'x', object: 'chat.completion', created: 1, model: 'a/b', choices: [], more: 1 };
    expect(() => judgeAnswer('POST', '/api/v1/chat/completions', 200, JSON.stringify(completion))).not.toThrow();
  });

  it('prefers a path without parameters', () => {
    const count = answerOf({ count: 3 });
    expect(() => judgeAnswer('GET', '/api/v1/models/count', 200, count)).not.toThrow();
    expect(() => judgeAnswer('GET', '/api/v1/models/user', 200, count)).toThrow('GET /api/v1/models/user 200');
  });

  it('takes the errors of the sign-in pages as pages, and of other routes as JSON', () => {
    const page = '<!doctype html>';
    const json = '{"error":{"code":403,"message":"x"}}';
    for (const path of ['/auth', '/auth/session', '/auth/session/end']) {
      expect(() => judgeAnswer('POST', path, 403, page, 'text/html; charset=utf-8')).not.toThrow();
      expect(() => judgeAnswer('POST', path, 403, json)).toThrow('not application/json');
    }
    expect(() => judgeAnswer('POST', '/api/v1/keys', 403, page, 'text/html')).toThrow('not text/html');
    expect(() => judgeAnswer('POST', '/api/v1/keys', 403, json)).not.toThrow();
  });

  it('takes an answer without a body, whatever its type', () => {
    expect(() => judgeAnswer('POST', '/auth', 303, '', '')).not.toThrow();
  });

  it('says nothing of paths that are no routes', () => {
    expect(() => judgeAnswer('GET', '/api/v1/nowhere', 404, '{}')).not.toThrow();
  });
});
