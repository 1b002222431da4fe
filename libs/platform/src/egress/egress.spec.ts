import { gzipSync, brotliCompressSync } from 'node:zlib';
import { AppError } from '@libs/errors';
import { Client } from 'undici';
import { Egress, type EgressRequest } from './egress';
import type { ResolvedAddress } from './resolved-address';
import { HttpsHost } from './testing/https-host';
import { selfSignedCertificate } from './testing/self-signed-certificate';

const NAMES = ['localhost', '127.0.0.1', 'host.test', 'other.test'];
const LIMITS = { maxBytes: 10_000, timeoutMs: 30_000 };

function addresses(...texts: string[]): ResolvedAddress[] {
  return texts.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

async function refusal(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => new Error('nothing was thrown'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof AppError) return error;
  throw error;
}

describe(Egress.name, () => {
  let host: HttpsHost;

  beforeAll(async () => {
    host = await HttpsHost.start((_request, response) => response.end('reached'), selfSignedCertificate(NAMES));
  });

  afterAll(() => host.stop());

  beforeEach(() => {
    host.requests.length = 0;
    host.connections = 0;
    host.answerWith((_request, response) => response.end('reached'));
  });

  function egress(options: { allow?: string[]; answers?: Record<string, string[]> } = {}): Egress {
    return new Egress({
      allowCidrs: options.allow ?? ['127.0.0.0/8'],
      resolve: async (name) => addresses(...(options.answers?.[name] ?? ['127.0.0.1'])),
      certificateAuthorities: host.certificate,
    });
  }

  function get(url: string, request: Partial<EgressRequest> = {}) {
    return egress().fetch(url, { ...LIMITS, ...request });
  }

  describe('without allowed ranges', () => {
    it.each([
      // Not https, or not a URL.
      'http://example.com/',
      'file:///etc/passwd',
      'ftp://example.com/',
      'gopher://example.com/',
      'data:text/plain,x',
      'javascript:1',
      '//example.com/',
      'example.com',
      'https://',
      'https:///',
      '',
      // URLs that different parsers read differently.
      'https://example.com\\@127.0.0.1/',
      'https://example.com/a b',
      'https://exam\nple.com/',
      ' https://example.com/',
      'https://example.com/\u0000',
      'https://user@example.com/',
      'https://user:secret@example.com/',
      'https://:secret@example.com/',
      'https://example.com@127.0.0.1/',
      'https://example.com/#fragment',
      'https://example.com/#',
      `https://example.com/${'a'.repeat(9_000)}`,
      // Names that are no public ones, and names made of an address.
      'https://printer.local/',
      'https://metadata.google.internal/',
      'https://router.home.arpa/',
      'https://127.0.0.1.nip.io/',
      'https://a.10-0-0-1.sslip.io./',
      'https://168.63.129.16.nip.io/',
      // Loopback in many spellings.
      'https://127.0.0.1/',
      'https://127.1/',
      'https://2130706433/',
      'https://0x7f000001/',
      'https://0x7f.0.0.1/',
      'https://0177.0.0.1/',
      'https://017700000001/',
      'https://127.0.0.1./',
      'https://0/',
      'https://0.0.0.0/',
      'https://①②⑦.0.0.1/',
      'https://127。0。0。1/',
      'https://%31%32%37.0.0.1/',
      'https://[::1]/',
      'https://[::]/',
      'https://[0:0:0:0:0:0:0:1]/',
      'https://[::ffff:127.0.0.1]/',
      'https://[::ffff:7f00:1]/',
      'https://[::127.0.0.1]/',
      'https://[64:ff9b::7f00:1]/',
      'https://[fe80::1%25eth0]/',
      'https://localhost/',
      'https://LOCALHOST/',
      'https://localhost./',
      'https://a.localhost/',
      // Addresses of public hosts are addresses all the same.
      'https://8.8.8.8/',
      'https://[2606:4700::1111]/',
      // Names without a dot are names of the own network.
      'https://postgres/',
      'https://metadata/',
      'https://example.com:80/',
      'https://example.com:8443/',
      'https://example.com:22/',
    ])('refuses %p before its name is resolved', async (url) => {
      let lookups = 0;
      const guarded = new Egress({
        allowCidrs: [],
        resolve: async () => {
          lookups += 1;
          return addresses('127.0.0.1');
        },
      });
      const error = await refusal(guarded.fetch(url, LIMITS));
      expect(error.code).toBe('invalid_request');
      expect(() => guarded.check(url)).toThrow(error.message);
      expect(lookups).toBe(0);
    });

    it.each([
      ['this host', '0.0.0.1'],
      ['private', '10.1.2.3'],
      ['private', '172.16.0.1'],
      ['private', '172.31.255.255'],
      ['private', '192.168.0.1'],
      ['shared by carriers', '100.64.0.1'],
      ['loopback', '127.0.0.1'],
      ['the metadata service', '169.254.169.254'],
      ['services of a machine at Azure', '168.63.129.16'],
      ['protocol assignments', '192.0.0.192'],
      ['documentation', '192.0.2.1'],
      ['documentation', '198.51.100.1'],
      ['documentation', '203.0.113.1'],
      ['6to4 relays', '192.88.99.1'],
      ['benchmarks', '198.19.0.1'],
      ['multicast', '224.0.0.1'],
      ['reserved', '240.0.0.1'],
      ['broadcast', '255.255.255.255'],
      ['unspecified', '::'],
      ['loopback', '::1'],
      ['mapped loopback', '::ffff:127.0.0.1'],
      ['mapped public', '::ffff:8.8.8.8'],
      ['compatible loopback', '::127.0.0.1'],
      ['translated', '::ffff:0:127.0.0.1'],
      ['NAT64', '64:ff9b::a9fe:a9fe'],
      ['local NAT64', '64:ff9b:1::7f00:1'],
      ['discard', '100::1'],
      ['Teredo', '2001::1'],
      ['documentation', '2001:db8::1'],
      ['6to4 of loopback', '2002:7f00:1::1'],
      ['documentation', '3fff::1'],
      ['not handed out', '4000::1'],
      ['unique local', 'fd00:ec2::254'],
      ['link local', 'fe80::1'],
      ['link local with a zone', 'fe80::1%eth0'],
      ['site local', 'fec0::1'],
      ['multicast', 'ff02::1'],
      ['no address at all', 'host.example'],
    ])('refuses a name whose address is %s: %s', async (_kind, address) => {
      const guarded = egress({ allow: [], answers: { 'host.test': [address] } });
      const error = await refusal(guarded.fetch('https://host.test/', LIMITS));
      expect(error.message).toBe('The URL is refused: its host is not at a public address');
    });

    it('refuses a name with one bad address among good ones, on either family', async () => {
      for (const answer of [
        ['93.184.216.34', '127.0.0.1'],
        ['93.184.216.34', 'fd00::1'],
      ]) {
        const guarded = egress({ allow: [], answers: { 'host.test': answer } });
        expect((await refusal(guarded.fetch('https://host.test/', LIMITS))).code).toBe('invalid_request');
      }
    });

    it('accepts a plain public URL as far as can be said without its address', () => {
      expect(() => egress({ allow: [] }).check('https://example.com/hook?a=b', 'callback_url')).not.toThrow();
    });

    it.each(['http://example.com/', 'https://10.0.0.1/', 'nothing'])('names the member that holds %s', (url) => {
      const check = (): void => egress({ allow: [] }).check(url, 'jwks_url');
      expect(check).toThrow(expect.objectContaining({ code: 'invalid_request', metadata: { param: 'jwks_url' } }));
    });
  });

  it('connects to the address that was judged, whatever the name server says next', async () => {
    const answers = [['127.0.0.1'], ['127.0.0.2']];
    let lookups = 0;
    const rebinding = new Egress({
      allowCidrs: ['127.0.0.1/32'],
      resolve: async () => addresses(...answers[lookups++]!),
      certificateAuthorities: host.certificate,
    });
    const response = await rebinding.fetch(host.url('/', 'host.test'), LIMITS);
    expect(response.body.toString()).toBe('reached');
    expect(lookups).toBe(1);
    expect(host.requests[0]!.headers.host).toBe(`host.test:${host.port}`);
  });

  describe('a connector', () => {
    async function through(guarded: Egress, url: string) {
      const { origin, pathname } = new URL(url);
      const client = new Client(origin, { connect: guarded.connector(30_000), allowH2: false });
      try {
        const { body } = await client.request({ method: 'GET', path: pathname });
        return await body.text();
      } finally {
        await client.destroy();
      }
    }

    it('connects to the address that was judged, whatever the name server says next', async () => {
      const answers = [['127.0.0.1'], ['10.0.0.1']];
      let lookups = 0;
      const rebinding = new Egress({
        allowCidrs: ['127.0.0.1/32'],
        resolve: async () => addresses(...answers[lookups++]!),
        certificateAuthorities: host.certificate,
      });
      expect(await through(rebinding, host.url('/', 'host.test'))).toBe('reached');
      expect(lookups).toBe(1);
      expect(host.requests[0]!.headers.host).toBe(`host.test:${host.port}`);
      await expect(through(rebinding, host.url('/', 'host.test'))).rejects.toMatchObject({ code: 'EGRESS_REFUSED' });
      expect(host.requests).toHaveLength(1);
    });

    it.each([
      ['a private address', ['10.0.0.1']],
      ['the metadata service', ['169.254.169.254']],
      ['the address of services of a machine at Azure', ['168.63.129.16']],
      ['a private address among public ones', ['93.184.216.34', '127.0.0.1']],
      ['a private address of the sixth version', ['fd00::1']],
    ])('connects to no host at %s', async (_kind, answer) => {
      const guarded = egress({ allow: [], answers: { 'host.test': answer } });
      await expect(through(guarded, 'https://host.test/')).rejects.toMatchObject({ code: 'EGRESS_REFUSED' });
      expect(host.connections).toBe(0);
    });

    it('connects to nothing that is not https, and to no certificate of another name', async () => {
      await expect(through(egress(), host.url().replace('https', 'http'))).rejects.toMatchObject({
        code: 'EGRESS_REFUSED',
      });
      await expect(through(egress(), host.url('/', 'stranger.test'))).rejects.toMatchObject({
        code: 'ERR_TLS_CERT_ALTNAME_INVALID',
      });
      expect(host.requests).toHaveLength(0);
    });

    it('says what the name server says', async () => {
      const guarded = new Egress({
        allowCidrs: [],
        resolve: () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' })),
      });
      await expect(through(guarded, 'https://host.test/')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    });
  });

  it('lifts address, localhost and port for an allowed range, but not https', async () => {
    expect((await get(host.url())).status).toBe(200);
    expect((await get(host.url('/', 'localhost'))).status).toBe(200);
    expect((await get(`https://2130706433:${host.port}/`)).url).toBe(host.url());
    expect((await refusal(get(host.url().replace('https', 'http')))).message).toBe(
      'The URL is refused: it must start with https://',
    );
  });

  it('reaches localhost at its allowed addresses, and another name only if all of its addresses are allowed', async () => {
    const answers = { localhost: ['::1', '127.0.0.1'], 'host.test': ['::1', '127.0.0.1'] };
    const guarded = egress({ answers });
    expect((await guarded.fetch(host.url('/', 'localhost'), LIMITS)).status).toBe(200);
    expect((await refusal(guarded.fetch(host.url('/', 'host.test'), LIMITS))).code).toBe('invalid_request');
    expect(host.connections).toBe(1);
  });

  it('does not lift the port for names outside the allowed ranges', async () => {
    const guarded = egress({ answers: { 'host.test': ['93.184.216.34'] } });
    const error = await refusal(guarded.fetch('https://host.test:8443/', LIMITS));
    expect(error.message).toBe('The URL is refused: its port must be 443');
  });

  it('refuses a host whose certificate is for another name', async () => {
    const error = await refusal(get(host.url('/', 'stranger.test')));
    expect(error).toMatchObject({ code: 'provider_unavailable', internal: 'egress: ERR_TLS_CERT_ALTNAME_INVALID' });
    expect(host.requests).toHaveLength(0);
  });

  it('sends what it was given and nothing of ours', async () => {
    await get(host.url('/path?query=1'), { method: 'POST', headers: { 'x-one': '1' }, body: '{}' });
    expect(host.requests).toEqual([
      {
        method: 'POST',
        path: '/path?query=1',
        headers: {
          host: `127.0.0.1:${host.port}`,
          connection: 'keep-alive',
          'accept-encoding': 'gzip, br',
          'content-length': '2',
          'x-one': '1',
        },
      },
    ]);
  });

  it('gives a redirect back as an answer unless it is told to follow', async () => {
    host.answerWith((_request, response) => response.writeHead(302, { location: 'https://127.0.0.1/' }).end());
    expect(await get(host.url())).toMatchObject({ status: 302, headers: { location: 'https://127.0.0.1/' } });
    expect(host.requests).toHaveLength(1);
  });

  it('follows redirects, keeps secrets at their origin and asks before each hop', async () => {
    const hops: string[] = [];
    host.answerWith((request, response) => {
      if (request.url === '/last') response.end('last');
      else response.writeHead(307, { location: `https://other.test:${host.port}/last#part` }).end();
    });
    const response = await get(host.url('/first', 'host.test'), {
      maxRedirects: 3,
      headers: { Authorization: 'Bearer secret', Cookie: 'a=b', Accept: 'text/html' },
      admit: (url) => hops.push(url.hostname),
    });
    expect(response).toMatchObject({ status: 200, url: `https://other.test:${host.port}/last` });
    expect(hops).toEqual(['host.test', 'other.test']);
    expect(host.requests[0]!.headers).toHaveProperty('authorization');
    expect(host.requests[1]!.headers).not.toHaveProperty('authorization');
    expect(host.requests[1]!.headers).not.toHaveProperty('cookie');
    expect(host.requests[1]!.headers).toHaveProperty('accept', 'text/html');
  });

  it.each([
    'http://127.0.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://user:secret@other.test/',
    'https://internal.test/',
    'file:///etc/passwd',
    'https://',
  ])('judges every hop: a redirect to %p is refused', async (location) => {
    host.answerWith((_request, response) => response.writeHead(302, { location }).end());
    const guarded = egress({ answers: { 'internal.test': ['10.0.0.1'] } });
    const error = await refusal(guarded.fetch(host.url(), { ...LIMITS, maxRedirects: 3 }));
    expect(error.code).toBe('invalid_request');
    expect(error.message).not.toContain('secret');
    expect(host.connections).toBe(1);
  });

  it('gives up on redirects without end', async () => {
    host.answerWith((_request, response) => response.writeHead(302, { location: '/again' }).end());
    const error = await refusal(get(host.url(), { maxRedirects: 3 }));
    expect(error.message).toBe('The URL is refused: it redirects too often');
    expect(host.requests).toHaveLength(4);
  });

  it.each([
    ['gzip', gzipSync('plain')],
    ['br', brotliCompressSync('plain')],
  ])('reads %s', async (encoding, body) => {
    host.answerWith((_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body));
    expect((await get(host.url())).body.toString()).toBe('plain');
  });

  it('waits for no body that nobody wants, whether it is long or never ends', async () => {
    host.answerWith((_request, response) => response.writeHead(201, { 'x-a': 'b' }).write(Buffer.alloc(50_000_000)));
    expect(await get(host.url(), { maxBytes: 0 })).toMatchObject({ status: 201, headers: { 'x-a': 'b' } });
    host.answerWith((_request, response) => response.writeHead(500, { 'content-encoding': 'unknown' }).write('x'));
    expect(await get(host.url(), { maxBytes: 0 })).toMatchObject({ status: 500, body: Buffer.alloc(0) });
  });

  it('stops a body at its bound, plain or unpacked from a small bomb', async () => {
    const bodies = { identity: Buffer.alloc(10_001), gzip: gzipSync(Buffer.alloc(50_000_000)) };
    for (const [encoding, body] of Object.entries(bodies)) {
      host.answerWith((_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body));
      expect(await refusal(get(host.url()))).toMatchObject({
        code: 'payload_too_large',
        message: 'The URL answers with more than 10000 bytes',
      });
    }
    host.answerWith((_request, response) => response.end(Buffer.alloc(10_000)));
    expect((await get(host.url())).body).toHaveLength(10_000);
  });

  it('gives up an answer with hundreds of headers before it is parsed', async () => {
    host.answerWith((_request, response) => {
      for (let i = 0; i < 300; i += 1) response.setHeader(`x-${i}`, 'y');
      response.end('reached');
    });
    const error = await refusal(get(`https://localhost:${host.port}/`));
    expect(error).toMatchObject({ code: 'provider_unavailable', internal: 'egress: ANSWER_REFUSED' });
  });

  it('refuses encodings that stand for more than one round of compression, and broken ones', async () => {
    host.answerWith((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end('x'));
    expect((await refusal(get(host.url()))).code).toBe('provider_unavailable');
    host.answerWith((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'));
    expect((await refusal(get(host.url()))).code).toBe('provider_unavailable');
  });

  it('ends a host that is silent, one that drips, and a name server that never answers', async () => {
    host.answerWith(() => {});
    expect((await refusal(get(host.url(), { timeoutMs: 50 }))).code).toBe('timeout');
    host.answerWith((_request, response) => {
      response.write('a');
      const drip = setInterval(() => response.write('a'), 5);
      response.on('close', () => clearInterval(drip));
    });
    expect((await refusal(get(host.url(), { timeoutMs: 100 }))).code).toBe('timeout');
    const silent = new Egress({ allowCidrs: [], resolve: () => new Promise(() => {}) });
    expect((await refusal(silent.fetch('https://host.test/', { ...LIMITS, timeoutMs: 20 }))).code).toBe('timeout');
  });

  it('throws the reason of whoever ended it', async () => {
    const caller = new AbortController();
    host.answerWith(() => caller.abort(new Error('left')));
    await expect(get(host.url(), { signal: caller.signal })).rejects.toThrow('left');
    await expect(get(host.url(), { signal: caller.signal })).rejects.toThrow('left');
    expect(host.requests).toHaveLength(1);
  });

  it('says what is wrong by the name it was given, and never shows the URL', async () => {
    const refused = await refusal(get('https://key:hunter2@host.test/hunter2', { subject: 'callback_url' }));
    expect(refused.message).toBe('callback_url is refused: it must not hold a user or password');
    const unresolved = await refusal(
      egress({ answers: { 'host.test': [] } }).fetch('https://host.test/hunter2', LIMITS),
    );
    expect(unresolved.code).toBe('provider_unavailable');
    const unreachable = await refusal(get('https://127.0.0.1:1/?token=hunter2'));
    expect(unreachable.code).toBe('provider_unavailable');
    expect(`${unresolved.message}${unreachable.message}${unreachable.internal}`).not.toContain('hunter2');
  });

  it('does not start with a range that is none', () => {
    expect(() => new Egress({ allowCidrs: ['10.0.0.0/33'] })).toThrow();
  });
});
