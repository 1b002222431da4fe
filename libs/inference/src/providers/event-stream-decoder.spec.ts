import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { EventStreamDecoder, MalformedEventStream } from './event-stream-decoder';
import { eventStreamMessage } from './testing/event-stream-encoder';

const anyMessage = fc.record({
  headers: fc.dictionary(fc.stringMatching(/^:?[a-z-]{1,20}$/), fc.string({ unit: 'grapheme', maxLength: 20 }), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
  payload: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
});
type Message = { headers: Record<string, string>; payload: Buffer };
const anyBody = fc.array(anyMessage, { minLength: 1, maxLength: 5 });

const encode = (messages: readonly Message[]): Buffer =>
  Buffer.concat(messages.map(({ headers, payload }) => eventStreamMessage(headers, payload)));

function decode(pieces: readonly Buffer[]): Message[] {
  const messages: Message[] = [];
  const decoder = new EventStreamDecoder(({ headers, payload }) =>
    messages.push({ headers: Object.fromEntries(headers), payload: Buffer.from(payload) }),
  );
  for (const piece of pieces) decoder.push(piece);
  decoder.end();
  return messages;
}

/** A message with a right checksum, whatever it says of its own lengths. */
function sealed(totalLength: number, headersLength: number, content: Buffer): Buffer {
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(totalLength, 0);
  prelude.writeUInt32BE(headersLength, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(Buffer.concat([prelude, content])));
  return Buffer.concat([prelude, content, checksum]);
}

describe(EventStreamDecoder.name, () => {
  it('reads the same messages wherever the network cuts the body', () => {
    fc.assert(
      fc.property(anyBody, fc.array(fc.nat(), { maxLength: 8 }), (messages, cuts) => {
        const body = encode(messages);
        const offsets = [0, ...cuts.map((at) => at % body.length).sort((a, b) => a - b), body.length];
        const pieces = offsets.slice(1).map((end, i) => body.subarray(offsets[i], end));
        expect(decode(pieces)).toEqual(messages);
        expect(decode([...body].map((byte) => Buffer.from([byte])))).toEqual(messages);
      }),
    );
  });

  it('believes no message in which a byte was changed, and hands out those before it', () => {
    fc.assert(
      fc.property(anyBody, fc.nat(), fc.integer({ min: 1, max: 255 }), (messages, position, mask) => {
        const body = encode(messages);
        const at = position % body.length;
        body[at]! ^= mask;
        const seen: Buffer[] = [];
        const decoder = new EventStreamDecoder(({ payload }) => seen.push(Buffer.from(payload)));
        expect(() => {
          decoder.push(body);
          decoder.end();
        }).toThrow(MalformedEventStream);
        const whole = messages.filter((_, i) => encode(messages.slice(0, i + 1)).length <= at);
        expect(seen).toEqual(whole.map(({ payload }) => payload));
      }),
    );
  });

  it('refuses a body that ends within a message', () => {
    fc.assert(
      fc.property(anyMessage, fc.nat(), (message, position) => {
        const body = encode([message]);
        const cut = 1 + (position % (body.length - 1));
        expect(() => decode([body.subarray(0, cut)])).toThrow('within a message');
      }),
    );
  });

  it('passes over headers that are no text', () => {
    const name = Buffer.from('\x01x');
    const values = [[0], [1], [2, 1], [3, 0, 1], [4, 0, 0, 0, 1], [5, ...Array<number>(8).fill(0)]];
    const long = [
      [6, 0, 2, 7, 7],
      [8, ...Array<number>(8).fill(0)],
      [9, ...Array<number>(16).fill(0)],
    ];
    const head = Buffer.concat([...values, ...long].flatMap((value) => [name, Buffer.from(value)]));
    const message = Buffer.concat([head, Buffer.from('\x01t\x07\x00\x02hi', 'latin1')]);
    expect(decode([sealed(16 + message.length, message.length, message)])).toEqual([
      { headers: { t: 'hi' }, payload: Buffer.alloc(0) },
    ]);
  });

  it.each([
    ['a message longer than eight mebibytes', sealed(8 * 1024 * 1024 + 1, 0, Buffer.alloc(0)), 'too long'],
    ['a message shorter than its own frame', sealed(15, 0, Buffer.alloc(0)), 'too short'],
    ['headers longer than their message', sealed(16, 1, Buffer.alloc(0)), 'too short'],
    ['a header longer than the headers', sealed(18, 2, Buffer.from('\x05a')), 'is cut'],
    ['a header of an unknown type', sealed(19, 3, Buffer.from('\x01a\x0a')), 'unknown type'],
  ])('refuses %s', (_what, body, reason) => {
    expect(() => decode([body])).toThrow(reason);
  });

  it('tells from its first bytes that a message is too long, and waits for no more', () => {
    const decoder = new EventStreamDecoder(() => undefined);
    expect(() => decoder.push(sealed(0xffff_ffff, 0, Buffer.alloc(0)).subarray(0, 12))).toThrow('too long');
  });
});
