import { AppError } from '@libs/errors';
import { aProvider } from '../testing';
import { errorWithin } from './bedrock-error';
import type { UpstreamStream } from '../wire/upstream-stream';
import { ReframedStream, serverSentEvent } from './reframed-stream';
import { bedrockEvent, bedrockException, eventStreamMessage } from './testing/event-stream-encoder';

const provider = aProvider();

function reframed(...pieces: readonly Buffer[]): { stream: ReframedStream; calls: string[] } {
  const left = [...pieces];
  const calls: string[] = [];
  const upstream: UpstreamStream = {
    read: async () => left.shift() ?? null,
    leave: () => 0,
    cancel: () => void calls.push('cancel'),
    discard: () => void calls.push('discard'),
  };
  const stream = new ReframedStream(upstream, provider, (message) => {
    const error = errorWithin(message, provider);
    if (error !== null) throw error;
    return serverSentEvent(message.headers.get(':event-type') ?? '', message.payload);
  });
  return { stream, calls };
}

describe(ReframedStream.name, () => {
  const event = bedrockEvent('messageStop', { stopReason: 'end_turn' });
  const text = 'event: messageStop\ndata: {"stopReason":"end_turn"}\n\n';

  it('reads as server-sent events and ends with the body', async () => {
    const { stream } = reframed(event.subarray(0, 20), Buffer.concat([event.subarray(20), event]));
    expect(String(await stream.read())).toBe(text + text);
    expect(await stream.read()).toBeNull();
  });

  it('keeps several lines of data together', () => {
    expect(serverSentEvent('a', Buffer.from('{\r\n1\n}')).toString()).toBe('event: a\ndata: {\ndata: 1\ndata: }\n\n');
  });

  it('refuses the name of an event that would break out of its line', async () => {
    const { stream } = reframed(bedrockEvent('a\nb', {}));
    await expect(stream.read()).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it.each([
    ['throttlingException', 'rate_limit_exceeded', 'ThrottlingException'],
    ['validationException', 'invalid_request', 'ValidationException'],
    ['modelStreamErrorException', 'provider_unavailable', 'ModelStreamErrorException'],
    ['modelTimeoutException', 'timeout', 'ModelTimeoutException'],
    ['serviceUnavailableException', 'provider_overloaded', 'ServiceUnavailableException'],
    ['internalServerException', 'provider_unavailable', 'InternalServerException'],
    ['neverHeardOfException', 'provider_unavailable', 'NeverHeardOfException'],
  ])('throws %s as %s, after what came before it', async (type, code, hint) => {
    const { stream } = reframed(Buffer.concat([event, bedrockException(type, 'Some words'), event]));
    expect(String(await stream.read())).toBe(text);
    const error: unknown = await stream.read().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code, metadata: { provider_name: 'Acme', provider_code: hint } });
    await expect(stream.read()).rejects.toBe(error);
  });

  it('throws an error that has no payload', async () => {
    const headers = { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'Oops' };
    const { stream } = reframed(eventStreamMessage(headers, ''));
    await expect(stream.read()).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it('calls a broken message a broken answer, after what came before it', async () => {
    const broken = Buffer.from(event);
    broken[30]! ^= 1;
    const { stream } = reframed(Buffer.concat([event, broken]));
    expect(String(await stream.read())).toBe(text);
    await expect(stream.read()).rejects.toMatchObject({
      code: 'provider_unavailable',
      internal: expect.stringContaining('checksum') as string,
    });
  });

  it('calls a body that is cut a broken answer, unless it was cancelled', async () => {
    const cut = reframed(event.subarray(0, 30)).stream;
    await expect(cut.read()).rejects.toMatchObject({ code: 'provider_unavailable' });
    const { stream, calls } = reframed(event.subarray(0, 30));
    const reading = stream.read();
    stream.cancel();
    expect(await reading).toBeNull();
    stream.discard();
    expect(calls).toEqual(['cancel', 'discard']);
  });
});
