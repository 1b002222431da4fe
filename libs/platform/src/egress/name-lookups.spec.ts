import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { lookup } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import { NameLookups } from './name-lookups';

/** Answers `10.1.2.3` for names below `.known.test`, says that others do not exist, and is silent for `.silent.test`. */
class NameServer {
  readonly #socket: Socket = createSocket('udp4');
  asked = 0;

  async start(): Promise<string> {
    this.#socket.on('message', (message, { port, address }) => {
      this.asked += 1;
      const name = nameIn(message);
      if (name.endsWith('silent.test')) return;
      const isKnown = name.endsWith('known.test');
      const isIpv4 = message.readUInt16BE(message.indexOf(0, 12) + 1) === 1;
      this.#socket.send(answerTo(message, isKnown, isKnown && isIpv4), port, address);
    });
    this.#socket.bind(0, '127.0.0.1');
    await once(this.#socket, 'listening');
    return `127.0.0.1:${(this.#socket.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#socket.close();
  }
}

function nameIn(message: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; message[at] !== 0; at += message[at]! + 1) {
    labels.push(message.toString('latin1', at + 1, at + 1 + message[at]!));
  }
  return labels.join('.').toLowerCase();
}

/** A reply (RFC 1035 §4.1) that repeats the question. */
function answerTo(message: Buffer, isKnown: boolean, hasAddress: boolean): Buffer {
  const head = Buffer.from(message.subarray(0, message.indexOf(0, 12) + 5));
  head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(hasAddress ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const address = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 1, 2, 3]);
  return hasAddress ? Buffer.concat([head, address]) : head;
}

describe(NameLookups.name, () => {
  const server = new NameServer();
  let servers: string[];
  const never = new AbortController().signal;
  const ofA = { holder: 'a', signal: never };

  beforeAll(async () => {
    servers = [await server.start()];
  });

  afterAll(() => server.stop());

  it('finds the addresses of a name, in the hosts file too', async () => {
    const lookups = new NameLookups({ servers });
    expect(await lookups.find('one.known.test', ofA)).toEqual([{ address: '10.1.2.3', family: 4 }]);
    expect(await lookups.find('localhost', ofA)).toContainEqual({ address: '127.0.0.1', family: 4 });
    await expect(lookups.find('one.absent.test', ofA)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(lookups.size).toBe(0);
  });

  it('asks once for a name that many want at the same time', async () => {
    const lookups = new NameLookups({ servers });
    const before = server.asked;
    await Promise.all(Array.from({ length: 500 }, () => lookups.find('two.known.test', ofA)));
    expect(server.asked - before).toBe(2);
  });

  it('keeps no lookup of the system waiting for silent name servers', async () => {
    const lookups = new NameLookups({ servers });
    const left = new AbortController();
    const silent = Array.from({ length: 100 }, (_, nth) =>
      lookups.find(`n${nth}.silent.test`, { holder: 'a', signal: left.signal }).catch(() => 'failed'),
    );
    const startMs = performance.now();
    await lookup('localhost');
    expect(await lookups.find('three.known.test', { holder: 'b', signal: never })).toHaveLength(1);
    expect(performance.now() - startMs).toBeLessThan(1_500);
    left.abort();
    expect(new Set(await Promise.all(silent))).toEqual(new Set(['failed']));
    expect(lookups.size).toBe(0);
  });

  it('lets one holder take half of the places, and none for longer than a name server may be silent', async () => {
    const lookups = new NameLookups({ servers, most: 8, timeoutMs: 300 });
    const silent = Array.from({ length: 8 }, (_, nth) =>
      lookups.find(`n${nth}.silent.test`, ofA).then(
        () => 'found',
        (error: Error) => error.message,
      ),
    );
    expect(lookups.size).toBe(4);
    expect(await lookups.find('four.known.test', { holder: 'b', signal: never })).toHaveLength(1);
    const outcomes = await Promise.all(silent);
    expect(outcomes.filter((one) => one.includes('too many names'))).toHaveLength(4);
    expect(lookups.size).toBe(0);
    expect(await lookups.find('five.known.test', ofA)).toHaveLength(1);
  });

  it('goes on for others when one of them leaves', async () => {
    const lookups = new NameLookups({ servers, timeoutMs: 300 });
    const left = new AbortController();
    const [first, second] = [
      lookups.find('six.known.test', { holder: 'a', signal: left.signal }),
      lookups.find('six.known.test', ofA),
    ];
    left.abort();
    expect(await second).toHaveLength(1);
    expect(await first).toHaveLength(1);
  });
});
