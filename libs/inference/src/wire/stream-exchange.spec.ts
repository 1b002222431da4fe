import { AppError } from '@libs/errors';
import { errors, type Dispatcher } from 'undici';
import { aProvider } from '../testing';
import { StreamExchange } from './stream-exchange';
import { isHeldBack } from './upstream-error';
import { isUpstreamFault } from './upstream-fault';

const REQUEST: Dispatcher.DispatchOptions = { method: 'POST', path: '/chat/completions' };

/** undici's side of an exchange, driven by hand. */
function openStream({ isAnswered = true } = {}) {
  const calls: string[] = [];
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    abort: () => calls.push('abort'),
    pause: () => {
      controller.paused = true;
      calls.push('pause');
    },
    resume: () => {
      controller.paused = false;
      calls.push('resume');
    },
  };
  const abort = new AbortController();
  const released: string[] = [];
  const exchange = new StreamExchange({
    provider: aProvider(),
    apiKey: null,
    signal: abort.signal,
    totalMs: 60_000,
    largestBodyBytes: 1_024 * 1_024,
    onRelease: () => released.push('released'),
  });
  if (isAnswered) {
    exchange.onRequestStart(controller);
    exchange.onResponseStart(controller, 200, {});
  }
  return { exchange, controller, calls, abort, released };
}

describe(StreamExchange.name, () => {
  it('holds the upstream back while nobody reads, and lets it go on afterwards', async () => {
    const { exchange, controller, calls } = openStream();
    for (let i = 0; i < 4; i += 1) exchange.onResponseData(controller, Buffer.alloc(64 * 1024));
    expect(calls).toEqual(['pause']);
    expect((await exchange.read())?.length).toBe(256 * 1024);
    expect(calls).toEqual(['pause', 'resume']);
    exchange.cancel();
  });

  it('reads on where the upstream sends as much again as soon as it is let go on', async () => {
    const { exchange, controller } = openStream();
    const pieces = Array.from({ length: 4 }, () => Buffer.alloc(300 * 1024));
    const { resume } = controller;
    // Undici hands out what has arrived before its `resume` returns.
    controller.resume = () => {
      resume();
      const piece = pieces.pop();
      if (piece) exchange.onResponseData(controller, piece);
      else exchange.onResponseEnd();
    };
    exchange.onResponseData(controller, pieces.pop()!);
    let bytes = 0;
    for (let chunk = await exchange.read(); chunk !== null; chunk = await exchange.read()) bytes += chunk.length;
    expect(bytes).toBe(4 * 300 * 1024);
  });

  it.each([
    ['a slow reader', 256 * 1024, true],
    ['its upstream', 1, false],
  ])('knows when its time was over because of %s', async (_what, bytes, isReaders) => {
    jest.useFakeTimers();
    const { exchange, controller } = openStream();
    exchange.onResponseData(controller, Buffer.alloc(bytes));
    jest.advanceTimersByTime(60_000);
    jest.useRealTimers();
    expect((await exchange.read())?.length).toBe(bytes);
    const thrown: unknown = await exchange.read().catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'timeout' });
    expect(isHeldBack(thrown as AppError)).toBe(isReaders);
  });

  it('hands out what had arrived before it failed, and then the failure', async () => {
    const { exchange, controller, abort, calls, released } = openStream();
    exchange.onResponseData(controller, Buffer.from('a'));
    abort.abort();
    expect((await exchange.read())?.toString()).toBe('a');
    await expect(exchange.read()).rejects.toMatchObject({ code: 'request_timeout' });
    expect({ calls, released }).toEqual({ calls: ['abort'], released: ['released'] });
  });

  it('sends nothing when it has come to its end before its turn to be sent', async () => {
    const { exchange, abort } = openStream({ isAnswered: false });
    const dispatch = jest.fn();
    abort.abort();
    exchange.start({ dispatch } as unknown as Dispatcher, REQUEST);
    await expect(exchange.opened).rejects.toMatchObject({ code: 'request_timeout' });
    expect(dispatch).not.toHaveBeenCalled();
  });

  it('fails, and frees its place, when its request cannot be sent at all', async () => {
    const { exchange, released } = openStream({ isAnswered: false });
    const dispatch = jest.fn(() => {
      throw new errors.ClientDestroyedError();
    });
    exchange.start({ dispatch } as unknown as Dispatcher, REQUEST);
    await expect(exchange.opened).rejects.toMatchObject({ code: 'server' });
    expect(released).toEqual(['released']);
  });

  it.each([
    ['ECONNREFUSED', 'provider_unavailable', true],
    ['ENOTFOUND', 'provider_unavailable', true],
    ['CERT_HAS_EXPIRED', 'provider_unavailable', true],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'provider_unavailable', true],
    ['HPE_INVALID_CONSTANT', 'provider_unavailable', true],
    ['UND_ERR_SOCKET', 'provider_unavailable', true],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout', true],
    ['UND_ERR_BODY_TIMEOUT', 'timeout', true],
    ['EMFILE', 'server', false],
    ['EADDRNOTAVAIL', 'server', false],
    ['UND_ERR_INVALID_ARG', 'server', false],
    ['UND_ERR_REQ_CONTENT_LENGTH_MISMATCH', 'server', false],
    ['UND_ERR_CLOSED', 'server', false],
    ['a bug', 'server', false],
  ])('knows by %s whose fault the end of a connection is', async (code, expected, isUpstreams) => {
    const { exchange } = openStream({ isAnswered: false });
    exchange.onResponseError(null, code === 'a bug' ? new TypeError('x') : Object.assign(new Error('x'), { code }));
    const error = await exchange.opened.then(
      () => null,
      (thrown: unknown) => thrown as AppError,
    );
    expect([error?.code, isUpstreamFault(error!)]).toEqual([expected, isUpstreams]);
  });

  it('passes the error on of whoever sends the body', async () => {
    const { exchange } = openStream({ isAnswered: false });
    const broken = new AppError('invalid_request', 'The upload is not whole');
    exchange.onResponseError(null, broken);
    await expect(exchange.opened).rejects.toBe(broken);
  });

  it('ends a read that waits when it is cancelled', async () => {
    const { exchange, calls, released } = openStream();
    const waiting = exchange.read();
    exchange.cancel();
    exchange.cancel();
    expect(await waiting).toBeNull();
    expect({ calls, released }).toEqual({ calls: ['abort'], released: ['released'] });
  });

  it('keeps the connection when a body of which nothing more is wanted ends', () => {
    const { exchange, controller, calls, released } = openStream();
    exchange.discard();
    exchange.onResponseData(controller, Buffer.alloc(1024 * 1024));
    exchange.onResponseEnd();
    expect({ calls, released }).toEqual({ calls: [], released: ['released'] });
  });

  it('closes the connection when such a body goes on for a second', () => {
    jest.useFakeTimers();
    try {
      const { exchange, calls, released } = openStream();
      exchange.discard();
      jest.advanceTimersByTime(999);
      expect(calls).toEqual([]);
      jest.advanceTimersByTime(1);
      expect({ calls, released }).toEqual({ calls: ['abort'], released: ['released'] });
    } finally {
      jest.useRealTimers();
    }
  });

  it('aborts a request that only gets its connection after the caller has left', async () => {
    const { exchange, calls, controller, abort } = openStream({ isAnswered: false });
    abort.abort();
    await expect(exchange.opened).rejects.toMatchObject({ code: 'request_timeout' });
    exchange.onRequestStart(controller);
    expect(calls).toEqual(['abort']);
  });
});
