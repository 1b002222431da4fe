import { crc32 } from 'node:zlib';

/** A message of Amazon's event stream encoding with text headers. */
export function eventStreamMessage(headers: Readonly<Record<string, string>>, payload: string | Buffer): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => textHeader(name, value)));
  const body = Buffer.from(payload);
  const message = Buffer.alloc(12 + head.length + body.length + 4);
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(head.length, 4);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  head.copy(message, 12);
  body.copy(message, 12 + head.length);
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4);
  return message;
}

function textHeader(name: string, value: string): Buffer {
  const length = Buffer.alloc(3);
  length.writeUInt8(7, 0);
  length.writeUInt16BE(Buffer.byteLength(value), 1);
  return Buffer.concat([Buffer.from([Buffer.byteLength(name)]), Buffer.from(name), length, Buffer.from(value)]);
}

/** An event of Bedrock. */
export function bedrockEvent(type: string, payload: object): Buffer {
  const headers = { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' };
  return eventStreamMessage(headers, JSON.stringify(payload));
}

/** An error in the place of an event. */
export function bedrockException(type: string, message: string): Buffer {
  const headers = { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' };
  return eventStreamMessage(headers, JSON.stringify({ message }));
}
