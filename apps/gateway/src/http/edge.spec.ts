import { gzipSync } from 'node:zlib';
import type { ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Body, Controller, Delete, Get, Global, Module, Param, Post, Req, SetMetadata } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { hashApiKey, mintApiKey, VerifyKey } from '@libs/contracts';
import { MessageBus, Readiness } from '@libs/platform';
import { aPrincipal, FakeMessageBus } from '@libs/platform/testing';
import { Public } from '../auth/access.decorators';
import { AuthModule } from '../auth/auth.module';
import type { BodyRequest } from './body.guard';
import { API_PREFIX, edgeServerOptions, prepareEdge } from './edge';
import { createEdgeAdapter } from './edge-adapter';
import { EdgeErrorFilter } from './edge-error.filter';
import { EdgePools } from './edge-pools';
import { HttpModule } from './http.module';
import { InFlight } from './in-flight';
import { InferenceBody, MAX_STREAMED_BYTES, NoBody, StreamedBody } from './streamed-body.decorator';
import { ROUTE_ACCESS } from './route-access';
import { askRaw, type RawAnswer } from './testing/raw-client';

const KEY = mintApiKey('sluice', 'api');
const MEBIBYTE = 1024 * 1024;

const OTHER_KEY = mintApiKey('sluice', 'api');
const MANAGEMENT_KEY = mintApiKey('sluice', 'management');

/** With characters of several bytes, which pieces may cut in two. */
const LONG_TEXT = 'é€'.repeat(400_000);

const principal = aPrincipal({ keyHash: hashApiKey(KEY) });
const stranger = aPrincipal({ keyHash: hashApiKey(OTHER_KEY), organizationId: 'others', workspaceId: 'theirs' });
const manager = aPrincipal({ keyHash: hashApiKey(MANAGEMENT_KEY), kind: 'management' });

@Controller()
class TinyController {
  readonly seen: unknown[] = [];

  @Post('plain')
  plain(@Body() body: unknown): object {
    this.seen.push(body);
    return { ok: true };
  }

  @Post('infer')
  @InferenceBody()
  infer(@Req() request: BodyRequest): object {
    this.seen.push(request.body);
    return { bytes: request.rawBody?.length, body: request.body };
  }

  @Post('batches')
  @StreamedBody()
  async batches(@Req() request: BodyRequest): Promise<object> {
    let bytes = 0;
    for await (const chunk of request.raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (chunk.includes('refuse me')) throw new RangeError('a handler that fails in the middle of the body');
    }
    return { bytes };
  }

  @Post('batches/:id/cancel')
  @NoBody()
  cancel(@Param('id') id: string): object {
    this.seen.push(id);
    return { id };
  }

  @Post('messages')
  message(): object {
    return {};
  }

  @Get('long')
  long(): object {
    return { text: LONG_TEXT };
  }

  @Get('batches/:id')
  batch(@Param('id') id: string): object {
    return { id };
  }

  @Delete('batches/:id')
  remove(@Param('id') id: string): object {
    this.seen.push(id);
    return { id };
  }

  @Get('managed/:id')
  @SetMetadata(ROUTE_ACCESS, 'management')
  managed(@Param('id') id: string): object {
    this.seen.push(id);
    return { id };
  }
}

@Controller('open')
@Public()
class OpenController {
  @Post()
  create(@Body() body: unknown): unknown {
    return body;
  }

  @Post('infer')
  @InferenceBody()
  infer(@Body() body: unknown): unknown {
    return body;
  }
}

@Controller('guarded')
class GuardedController {
  @Post()
  create(): object {
    return { ok: true };
  }
}

const bus = new FakeMessageBus().answers(VerifyKey, ({ keyHash }) => ({
  principal: [stranger, manager].find((each) => each.keyHash === keyHash) ?? principal,
}));

@Global()
@Module({ providers: [{ provide: MessageBus, useValue: bus }], exports: [MessageBus] })
class BusModule {}

describe('the public edge', () => {
  let app: NestFastifyApplication;
  let port: number;
  let readiness: Readiness;
  let inFlight: InFlight;

  beforeAll(async () => {
    readiness = new Readiness();
    inFlight = new InFlight(new EdgePools({ inFlight: 50, arriving: 50, memoryBytes: 64 * MEBIBYTE }));
    const module = await Test.createTestingModule({
      imports: [BusModule, AuthModule, HttpModule],
      controllers: [TinyController, OpenController, GuardedController],
    }).compile();
    const adapter = createEdgeAdapter();
    app = module.createNestApplication<NestFastifyApplication>(adapter, { bodyParser: false, logger: false });
    app.setGlobalPrefix(API_PREFIX);
    app.useGlobalFilters(new EdgeErrorFilter({ log() {}, error() {}, warn() {}, debug() {} }));
    prepareEdge(app, { readiness, inFlight, serviceName: 'sluice' });
    await app.listen(0, '127.0.0.1');
    port = (app.getHttpServer().address() as AddressInfo).port;
  });

  beforeEach(() => void app.get(TinyController).seen.splice(0));

  afterAll(async () => {
    app.getHttpServer().closeAllConnections();
    await app.close();
  });

  const ask = (bytes: string | Buffer, lingerMs?: number): Promise<RawAnswer> => askRaw(port, bytes, { lingerMs });

  const request = (
    method: string,
    path: string,
    headers: readonly string[] = [],
    body: string | Buffer = '',
  ): Buffer => {
    const lines = [`${method} ${path} HTTP/1.1`, 'Host: gateway', ...headers];
    const isGuarded = path.includes('/guarded') || headers.some((line) => line.startsWith('Authorization'));
    if (!isGuarded) lines.push(`Authorization: Bearer ${KEY}`);
    if (body.length > 0) lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
  };

  const post = (path: string, body: string | Buffer, headers: readonly string[] = []): Promise<RawAnswer> =>
    ask(request('POST', `/api/v1/${path}`, ['Content-Type: application/json', ...headers], body));

  const expectEnvelope = (answer: RawAnswer, status: number): void => {
    expect({ status: answer.status, body: answer.body }).toMatchObject({ status });
    const { error } = JSON.parse(answer.body) as { error: { code: number; message: string } };
    expect(error.code).toBe(status);
    expect(error.message).toEqual(expect.any(String));
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.reset).toBe(false);
  };

  describe('requests that do not wait for the answer before them', () => {
    /** The most that are worked on at once, and the answers until the server closes or all have come. */
    const sendAhead = async (count: number): Promise<{ most: number; answers: number; closed: boolean }> => {
      let most = 0;
      const enter = inFlight.enter.bind(inFlight);
      inFlight.enter = (life) => {
        enter(life);
        most = Math.max(most, inFlight.size);
      };
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      let text = '';
      const closed = await new Promise<boolean>((resolve) => {
        socket
          .on('close', () => resolve(true))
          .on('data', (data: Buffer) => {
            text += data.toString('latin1');
            if (text.split('HTTP/1.1 200').length - 1 === count) resolve(false);
          });
        socket.write(Buffer.concat(Array.from({ length: count }, () => request('GET', '/api/v1/batches/x'))));
      });
      socket.destroy();
      inFlight.enter = enter;
      return { most, answers: text.split('HTTP/1.1').length - 1, closed };
    };

    it('are worked on one after another', async () => {
      expect(await sendAhead(4)).toEqual({ most: 1, answers: 4, closed: false });
    });

    it('are answered in order, also one whose expectation is not known', async () => {
      const socket = connect(port, '127.0.0.1');
      let text = '';
      const statuses = (): string[] => text.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [];
      const get = request('GET', '/api/v1/batches/x');
      socket.write(Buffer.concat([get, request('GET', '/api/v1/batches/x', ['Expect: a-miracle']), get]));
      for await (const data of socket) {
        text += String(data);
        if (statuses().length === 3) break;
      }
      expect(statuses()).toEqual(['200', '400', '200']);
    });

    it('end their connection when they are many', async () => {
      const { answers, ...rest } = await sendAhead(300);
      expect(rest).toEqual({ most: 1, closed: true });
      expect(answers).toBeLessThan(100);
    });
  });

  describe('paths and methods', () => {
    it('answers a wrong method with 405 and what is allowed (U21)', async () => {
      const answer = await ask(request('PUT', '/api/v1/batches/x'));
      expectEnvelope(answer, 405);
      expect(answer.headers.get('allow')).toBe('DELETE, GET, HEAD, OPTIONS');
    });

    it.each([
      '/',
      '/api',
      '/api/v1',
      '/api/v1/',
      '/api/v1//batches',
      '//api/v1/batches',
      '/API/v1/batches',
      '/api/v1/BATCHES/x',
      '/api/v1/batches/',
      '/api/v1/batches/x/',
      '/api/v1/batches/x/y',
      '/api/v1/%2e%2e/',
      '/api/v1/%2e%2e/guarded',
      '/api/v1/plain;a=b',
      '/api/v2/plain',
      '/api/beta/plain',
      '/api/beta/batchesx',
    ])('knows nothing at %s (U22, P04, P05, P14)', async (path) => {
      expectEnvelope(await ask(request('GET', path)), 404);
      expectEnvelope(await ask(request('POST', path)), 404);
    });

    it.each([
      ['/api/v1/batches/x/', '/api/v1/batches/{id}'],
      ['/api/v1//batches', '/api/v1/batches'],
      ['/api/v1/v1/plain', '/api/v1/plain'],
      ['/v1/v1/plain', '/api/v1/plain'],
      ['/api/plain?x=1', '/api/v1/plain'],
      ['/openai/v1/plain', '/api/v1/plain'],
      ['/openai/deployments/large-2/plain', '/api/v1/plain'],
    ])('says of %s which route was meant', async (path, meant) => {
      const answer = await ask(request('GET', path));
      expectEnvelope(answer, 404);
      const { message } = (JSON.parse(answer.body) as { error: { message: string } }).error;
      expect(message).toMatch(/^There is no route \/.+\. /);
      expect(message).toContain(`Did you mean ${meant}? Check the base URL of your client`);
    });

    it.each([
      ['GET', '/api/v1/nowhere/plain', 'There is no route /api/v1/nowhere/plain. The page /docs lists all routes'],
      ['GET', '/nowhere/batches/x', 'There is no route /nowhere/batches/x. The page /docs lists all routes'],
      ['GET', '/api/v1/nowhere', 'There is no route /api/v1/nowhere. The page /docs lists all routes'],
      ['GET', '/api/v1/nowhere/sk-live-1', 'There is no route /api/v1/nowhere/*. The page /docs lists all routes'],
      ['PUT', '/api/v1/batches/x', '/api/v1/batches/{id} has no method PUT; it has DELETE, GET, HEAD, OPTIONS'],
      [
        'GET',
        `/api/v1/batches/${'x'.repeat(1_025)}`,
        'A part of the path is longer than 1024 characters; no id or model is',
      ],
      ['GET', '/api/v1/batches/%zz', 'The path has a % that begins no escape; write it as %25'],
    ])('says of %s %s what is wrong and what to do', async (method, path, message) => {
      expect(JSON.parse((await ask(request(method, path))).body)).toMatchObject({ error: { message } });
    });

    it('has each route under /v1, too', async () => {
      expect((await ask(request('GET', '/v1/batches/x'))).body).toBe('{"id":"x"}');
      expect((await ask(request('POST', '/v1/plain', ['Content-Type: application/json'], '{}'))).status).toBe(201);
      expectEnvelope(await ask(request('POST', '/v1/guarded')), 401);
      const answer = await ask(request('PUT', '/v1/batches/x'));
      expectEnvelope(answer, 405);
      expect(answer.headers.get('allow')).toBe('DELETE, GET, HEAD, OPTIONS');
    });

    it.each([
      ['GET', '/api/v1/messages/batches', 404, 'not_found_error'],
      ['POST', '/v1/v1/messages', 404, 'not_found_error'],
      ['PUT', '/api/v1/messages', 405, 'invalid_request_error'],
      ['GET', '/v1/messages/%ff', 400, 'invalid_request_error'],
    ])('answers %s %s with %i in the shape of messages', async (method, path, status, type) => {
      const answer = await ask(request(method, path));
      expect(answer.status).toBe(status);
      const body = JSON.parse(answer.body) as object;
      expect(body).toMatchObject({ type: 'error', error: { type, message: expect.any(String) } });
      expect(body).toHaveProperty('request_id', answer.headers.get('x-request-id'));
    });

    it.each(['*', 'ftp://gateway/api/v1/batches/x'])(
      'finds nothing at a target that is no path: %s',
      async (target) => {
        for (const method of ['OPTIONS', 'GET']) expectEnvelope(await ask(request(method, target)), 404);
      },
    );

    it('finds the path in an absolute target', async () => {
      const answer = await ask(request('GET', 'http://elsewhere/api/v1/batches/x'));
      expect([answer.status, answer.body]).toEqual([200, (await ask(request('GET', '/api/v1/batches/x'))).body]);
    });

    it('knows no id of thousands of characters (P05)', async () => {
      expectEnvelope(await ask(request('GET', `/api/v1/batches/${'x'.repeat(2_000)}`)), 404);
    });

    it.each(['/api/v1/batches/%', '/api/v1/batches/%f', '/api/v1/batches/%ff', '/api/v1/batches/%c0%af'])(
      'refuses the broken escape in %s (P10, P11)',
      async (path) => {
        expectEnvelope(await ask(request('GET', path)), 400);
      },
    );

    it('hands escapes to the route as the text they stand for', async () => {
      const answer = await ask(request('GET', '/api/v1/batches/%0d%0aX%00?id=x&id=y'));
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.body)).toEqual({ id: '\r\nX\0' });
    });

    it('serves batches where they were first published, too', async () => {
      expect(JSON.parse((await ask(request('GET', '/api/beta/batches/x'))).body)).toEqual({ id: 'x' });
    });

    it('does not take the headers of proxies for another request (U32)', async () => {
      const headers = ['X-HTTP-Method-Override: DELETE', 'X-Original-URL: /api/v1/guarded', 'X-Rewrite-URL: /x'];
      const answer = await ask(request('POST', '/api/v1/nothing', headers));
      expectEnvelope(answer, 404);
    });

    it('answers liveness and readiness outside the prefix', async () => {
      expect(await ask(request('GET', '/health/live'))).toMatchObject({ status: 200, body: '{"status":"live"}' });
      expect(await ask(request('GET', '/health/ready'))).toMatchObject({ status: 200, body: '{"status":"ready"}' });
    });
  });

  describe('heads', () => {
    it('refuses a request without Host or with two (U23)', async () => {
      expectEnvelope(await ask('GET /api/v1/batches/x HTTP/1.1\r\n\r\n'), 400);
      expectEnvelope(await ask('GET /api/v1/batches/x HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n'), 400);
    });

    it.each([
      ['Transfer-Encoding beside Content-Length', 'Transfer-Encoding: chunked\r\nContent-Length: 3'],
      ['Content-Length beside Transfer-Encoding', 'Content-Length: 3\r\nTransfer-Encoding: chunked'],
      ['a hidden Transfer-Encoding', 'Transfer-Encoding:\x0bchunked'],
      ['an unknown Transfer-Encoding', 'Transfer-Encoding: identity, chunked, gzip'],
      ['two lengths', 'Content-Length: 3\r\nContent-Length: 4'],
      ['a negative length', 'Content-Length: -1'],
      ['a length with a sign', 'Content-Length: +5'],
      ['a hexadecimal length', 'Content-Length: 0x10'],
      ['a length with a comma', 'Content-Length: 3, 3'],
      ['a folded header', 'X: a\r\n b'],
      ['a bare line feed', 'X: a\nY: b'],
      ['a header name with a space', 'X : a'],
      ['a NUL in a header', 'X: a\0b'],
    ])('refuses %s and closes (U24, U25, U26, U33)', async (_what, headers) => {
      const answer = await ask(
        `POST /api/v1/plain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n{} `,
        3_000,
      );
      expectEnvelope(answer, 400);
      expect(answer.closed).toBe(true);
    });

    it.each([
      'gzip, chunked',
      'identity, chunked',
      'chunked, chunked',
      'xchunked',
      'chunked;a=b',
      'chunked,',
      '"chunked"',
    ])('refuses Transfer-Encoding: %s on every route before the body is read, and closes', async (coding) => {
      const chunked = ['Content-Type: application/json', `Transfer-Encoding: ${coding}`];
      for (const path of ['plain', 'infer', 'batches', 'batches/x/cancel', 'open', 'guarded', 'nothing']) {
        const head = request('POST', `/api/v1/${path}`, chunked);
        const whole = await ask(Buffer.concat([head, Buffer.from('2\r\n{}\r\n0\r\n\r\n')]), 3_000);
        expectEnvelope(whole, 400);
        expect(whole.closed).toBe(true);
        expectEnvelope(await ask(head, 1_000), 400);
      }
      for (const method of ['GET', 'DELETE']) {
        expectEnvelope(await ask(request(method, '/api/v1/batches/x', chunked), 1_000), 400);
      }
      expect(app.get(TinyController).seen).toEqual([]);
    });

    it('refuses two Transfer-Encoding headers, and one of HTTP/1.0 (RFC 9112 §6.1)', async () => {
      const head = (version: string, headers: string): string =>
        `POST /api/v1/plain HTTP/${version}\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
        `Content-Type: application/json\r\n${headers}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
      const chunked = 'Transfer-Encoding: chunked';
      for (const bytes of [head('1.1', `${chunked}\r\n${chunked}`), head('1.0', chunked)]) {
        const answer = await ask(bytes, 3_000);
        expectEnvelope(answer, 400);
        expect(answer.closed).toBe(true);
      }
      expect(app.get(TinyController).seen).toEqual([]);
    });

    it.each(['chunked', 'Chunked', ' chunked '])('takes Transfer-Encoding: %s', async (coding) => {
      const head = request('POST', '/api/v1/plain', ['Content-Type: application/json', `Transfer-Encoding: ${coding}`]);
      const answer = await ask(Buffer.concat([head, Buffer.from('2\r\n{}\r\n0\r\n\r\n')]));
      expect(answer).toMatchObject({ status: 201, closed: false });
    });

    it('refuses a chunk size that is none, in the middle of a body', async () => {
      const answer = await ask(
        'POST /api/v1/plain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n',
        3_000,
      );
      expectEnvelope(answer, 400);
      expect(answer.closed).toBe(true);
    });

    it('refuses a head of more than 16 KiB or 100 headers (U27)', async () => {
      expectEnvelope(await ask(request('GET', '/api/v1/batches/x', [`X: ${'x'.repeat(17_000)}`])), 431);
      const many = Array.from({ length: 101 }, (_, i) => `X-${i}: 1`);
      expectEnvelope(await ask(request('GET', '/api/v1/batches/x', many)), 431);
      expect(await ask(request('GET', '/api/v1/batches/x', many.slice(0, 98)))).toMatchObject({ status: 200 });
    });

    it('waits ten seconds for a head (U28)', () => {
      const server = app.getHttpServer() as { headersTimeout: number };
      expect(server.headersTimeout).toBe(10_000);
      expect(edgeServerOptions().http).toMatchObject({ connectionsCheckingInterval: 2_000 });
    });

    it('takes a request id of plain characters and replaces any other (U34)', async () => {
      const given = await ask(request('GET', '/api/v1/batches/x', ['X-Request-Id: my_id-1']));
      expect(given.headers.get('x-request-id')).toBe('my_id-1');
      for (const bad of ['x'.repeat(65), 'a b', 'a;b', '\x80']) {
        const answer = await ask(request('GET', '/api/v1/batches/x', [`X-Request-Id: ${bad}`]));
        expect(answer.status).toBe(200);
        expect(answer.headers.get('x-request-id')).toMatch(/^req-\d+-\w{20}$/);
      }
      const nothing = await ask(request('GET', '/nothing'));
      expect(nothing.headers.get('x-request-id')).toMatch(/^req-\d+-\w{20}$/);
    });

    it('asks for a body only when it would take it (U31)', async () => {
      const expecting = (path: string, length: number): Promise<RawAnswer> =>
        ask(
          request('POST', path, [
            'Content-Type: application/json',
            'Expect: 100-continue',
            `Content-Length: ${length}`,
          ]),
        );
      expectEnvelope(await expecting('/api/v1/plain', MEBIBYTE + 1), 413);
      expectEnvelope(await expecting('/api/v1/batches', MAX_STREAMED_BYTES + 1), 413);
      expectEnvelope(await expecting('/api/v1/guarded', 2), 401);
      const words: string[] = [];
      const taken = await askRaw(port, '', {
        drive: (socket) => {
          socket.once('data', (chunk) => {
            words.push(chunk.toString());
            socket.write('{}');
          });
          socket.write(
            request('POST', '/api/v1/plain', [
              'Content-Type: application/json',
              'Expect: 100-continue',
              'Content-Length: 2',
            ]),
          );
        },
      });
      expect(words).toEqual(['HTTP/1.1 100 Continue\r\n\r\n']);
      expect(taken.status).toBe(201);
      expectEnvelope(await ask(request('POST', '/api/v1/plain', ['Expect: a-miracle'])), 400);
    });
  });

  describe('browsers', () => {
    it('may call from any page, without their cookies', async () => {
      const answer = await ask(
        request('OPTIONS', '/api/v1/infer', [
          'Origin: https://app.example',
          'Access-Control-Request-Method: POST',
          'Access-Control-Request-Headers: authorization,content-type',
        ]),
      );
      expect(answer.status).toBe(204);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'POST, OPTIONS',
        'access-control-allow-headers': 'authorization,content-type',
      });
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
      const refused = await ask(request('POST', '/api/v1/guarded', ['Origin: https://app.example']));
      expect(refused.headers.get('access-control-allow-origin')).toBe('*');
      expect(refused.headers.get('access-control-expose-headers')).toContain('X-Generation-Id');
      expect(refused.headers.get('access-control-expose-headers')).toContain('X-sluice-Warning');
    });

    it('never guess a type (M13)', async () => {
      for (const path of ['/api/v1/batches/x', '/nothing', '/api/v1/batches/%']) {
        expect((await ask(request('GET', path))).headers.get('x-content-type-options')).toBe('nosniff');
      }
    });
  });

  describe('bodies', () => {
    const routes = ['plain', 'infer'] as const;

    it.each(routes)('takes a JSON object on %s', async (path) => {
      for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
        const answer = await ask(request('POST', `/api/v1/${path}`, [`Content-Type: ${type}`], ' {"a":1.0} '));
        expect(answer).toMatchObject({ status: 201 });
      }
    });

    it.each(routes)('refuses an absent or empty body on %s (U35)', async (path) => {
      expectEnvelope(await ask(request('POST', `/api/v1/${path}`, ['Content-Type: application/json'])), 400);
      expectEnvelope(
        await ask(request('POST', `/api/v1/${path}`, ['Content-Type: application/json', 'Content-Length: 0'])),
        400,
      );
    });

    it.each([
      'null',
      '[]',
      '"x"',
      '1',
      'true',
      '{',
      '{"a":',
      '{"a":1',
      '{}{}',
      '{"a":1,}',
      '{/* */}',
      "{'a':1}",
      '{"a":NaN}',
      '{"a":01}',
      '{"a":"\n"}',
      '{a:1}',
      '{"a":1e}',
      ' ',
      '{"a":"\\x"}',
      '{"a":tru}',
    ])('refuses %s (U36, U37, U38)', async (body) => {
      for (const path of routes) expectEnvelope(await post(path, body), 400);
    });

    it('refuses a byte order mark and UTF-16 (U39)', async () => {
      for (const path of routes) {
        expectEnvelope(await post(path, '\uFEFF{}'), 400);
        expectEnvelope(await post(path, Buffer.from('{"a":1}', 'utf16le')), 400);
        expectEnvelope(await post(path, Buffer.from('\uFEFF{"a":1}', 'utf16le')), 400);
      }
    });

    it.each([
      'text/plain',
      'application/xml',
      'application/json; charset=utf-16',
      'application/jsonx',
      'multipart/form-data',
      'json',
      '',
      'application/x-www-form-urlencoded',
      'application/json; a=b',
    ])('refuses the media type "%s" (U40)', async (type) => {
      for (const path of [...routes, 'batches']) {
        expectEnvelope(await ask(request('POST', `/api/v1/${path}`, [`Content-Type: ${type}`], '{}')), 400);
      }
    });

    it('refuses a body without a media type, and with two', async () => {
      expectEnvelope(await ask(request('POST', '/api/v1/plain', [], '{}')), 400);
      const two = ['Content-Type: application/json', 'Content-Type: text/plain'];
      expectEnvelope(await ask(request('POST', '/api/v1/plain', two, '{}')), 400);
    });

    it('refuses bytes that are no UTF-8 instead of replacing them (U41)', async () => {
      for (const bytes of [[0xc0, 0xaf], [0x80], [0xed, 0xa0, 0x80], [0xff]]) {
        const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
        for (const path of routes) expectEnvelope(await post(path, body), 400);
      }
    });

    it.each(['gzip', 'br', 'gzip, gzip', 'identity', 'x'])('refuses Content-Encoding: %s (U42)', async (encoding) => {
      for (const path of [...routes, 'batches']) {
        expectEnvelope(await post(path, gzipSync('{}'), [`Content-Encoding: ${encoding}`]), 400);
      }
    });

    it('refuses 65 levels before it parses, and takes 64 (U43)', async () => {
      const nested = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
      for (const path of routes) {
        expect((await post(path, nested(64))).status).toBe(201);
        expectEnvelope(await post(path, nested(65)), 400);
        expectEnvelope(await post(path, `{"a":${'['.repeat(5_000)}`), 400);
      }
    });

    it('refuses more than 10,000 members of one object and a million values (U44)', async () => {
      const object = (count: number): string => `{${Array.from({ length: count }, (_, i) => `"${i}":1`).join(',')}}`;
      expect((await post('infer', object(10_000))).status).toBe(201);
      expectEnvelope(await post('infer', object(10_001)), 400);
      expectEnvelope(await post('infer', `{"a":[${'1,'.repeat(1_000_001)}1]}`), 400);
    });

    it('lets the last of doubled members count for inference and refuses them elsewhere (U45)', async () => {
      const inference = await post('infer', '{"a":1,"b":{"c":1,"c":2},"a":3}');
      expect(JSON.parse(inference.body)).toMatchObject({ body: { a: 3, b: { c: 2 } } });
      expectEnvelope(await post('plain', '{"a":1,"a":3}'), 400);
      expectEnvelope(await post('plain', '{"b":{"c":1,"\\u0063":2}}'), 400);
    });

    it('takes members named for the prototype as plain data (U46)', async () => {
      const body = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"x\\u0079":1}';
      for (const path of routes) expect((await post(path, body)).status).toBe(201);
      const { seen } = app.get(TinyController);
      expect(seen).toHaveLength(2);
      for (const each of seen) {
        expect(Object.getPrototypeOf(each)).toBe(Object.prototype);
        expect((each as { polluted?: unknown }).polluted).toBeUndefined();
      }
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    });

    it('refuses NUL and half surrogate pairs where text is stored (U47, U48)', async () => {
      for (const text of ['\\u0000', '\\ud800', '\\udc00x']) {
        expectEnvelope(await post('plain', `{"a":["${text}"]}`), 400);
        expectEnvelope(await post('plain', `{"${text}":1}`), 400);
        expect((await post('infer', `{"a":"${text}"}`)).status).toBe(201);
      }
    });

    it('reads escaped names right however often they were seen before', async () => {
      const { seen } = app.get(TinyController);
      for (let i = 0; i < 3; i += 1) {
        await post('infer', '{"h":[],"\\\\":0}');
        await post('infer', '{"h":1,"\\"":2}');
        expect(seen.splice(0).map((body) => Object.keys(body as object))).toEqual([
          ['h', '\\'],
          ['h', '"'],
        ]);
      }
    });

    it('takes a body that is exactly as long as it may be, and no byte more (U50)', async () => {
      const padded = (length: number): string => `{"a":"${'x'.repeat(length - 8)}"}`;
      expect((await post('plain', padded(MEBIBYTE))).status).toBe(201);
      expectEnvelope(await post('plain', padded(MEBIBYTE + 1)), 413);
      const chunked = `${(MEBIBYTE + 1).toString(16)}\r\n${padded(MEBIBYTE + 1)}\r\n0\r\n\r\n`;
      const head = request('POST', '/api/v1/plain', ['Content-Type: application/json', 'Transfer-Encoding: chunked']);
      expectEnvelope(await ask(Buffer.concat([head, Buffer.from(chunked)])), 413);
    });

    it('ignores what comes with a GET (P25)', async () => {
      const answer = await ask(request('GET', '/api/v1/batches/x', [], 'x'.repeat(MEBIBYTE)));
      expect(answer).toMatchObject({ status: 200, reset: false });
    });

    it('refuses what is no JSON with a DELETE, however long (P25)', async () => {
      expectEnvelope(await ask(request('DELETE', '/api/v1/batches/x', [], 'x'.repeat(MEBIBYTE))), 400);
      expect(app.get(TinyController).seen).toEqual([]);
    });
  });

  describe.each([
    ['POST', '/api/v1/batches/x/cancel', KEY, 201],
    ['DELETE', '/api/v1/batches/x', KEY, 200],
    ['GET', '/api/v1/managed/x', MANAGEMENT_KEY, 200],
  ])('bodies of a route that takes none: %s %s', (method, path, key, done) => {
    const send = (body: string, headers = ['Content-Type: application/json']): Promise<RawAnswer> =>
      ask(request(method, path, [...headers, `Authorization: Bearer ${key}`], body));

    it('may be absent or an empty object', async () => {
      for (const body of ['', '{}', ' { } ']) expect((await send(body)).status).toBe(done);
      for (const head of [[], ['Content-Length: 0'], ['Content-Type: text/plain']]) {
        expect((await send('', head)).status).toBe(done);
      }
      const chunked = request(method, path, ['Transfer-Encoding: chunked', `Authorization: Bearer ${key}`]);
      expect((await ask(Buffer.concat([chunked, Buffer.from('0\r\n\r\n')]))).status).toBe(done);
      expect((await ask(Buffer.concat([chunked, Buffer.from('2\r\n{}\r\n0\r\n\r\n')]))).status).toBe(done);
    });

    it.each(['reason', 'toString', '__proto__'])('are refused for the member %s, by its name', async (name) => {
      const answer = await send(`{"${name}":1}`);
      expectEnvelope(answer, 400);
      expect(answer.body).toContain(`"${name} is not a member of this object"`);
    });

    it('are refused if they are no object, and then nothing is done', async () => {
      for (const body of ['[]', 'null', '1', 'x', '{', '"{}"']) expectEnvelope(await send(body), 400);
      expectEnvelope(await send('{"a":1}', ['Content-Type: text/plain']), 400);
      expectEnvelope(await send('{"a":1}', []), 400);
      expect(app.get(TinyController).seen).toEqual([]);
    });
  });

  describe('streamed bodies', () => {
    it('hands the raw stream to the route', async () => {
      const answer = await post('batches', `{"a":"${'x'.repeat(3 * MEBIBYTE)}"}`);
      expect(JSON.parse(answer.body)).toEqual({ bytes: 3 * MEBIBYTE + 8 });
    });

    it('refuses what is announced as too long at once, and lets the client read that', async () => {
      const head = request('POST', '/api/v1/batches', [
        'Content-Type: application/json',
        `Content-Length: ${MAX_STREAMED_BYTES + 1}`,
      ]);
      const answer = await askRaw(port, '', {
        lingerMs: 2_000,
        drive: (socket) => {
          socket.write(head);
          // A client that reads only after it has written a good deal.
          socket.write(Buffer.alloc(8 * MEBIBYTE, 'x'), () => socket.end());
        },
      });
      expectEnvelope(answer, 413);
      expect(answer.headers.get('connection')).toBe('close');
      expect(answer.closed).toBe(true);
    });

    it('answers a refusal in the middle of an upload before it closes', async () => {
      const head = request('POST', '/api/v1/batches', [
        'Content-Type: application/json',
        `Content-Length: ${20 * MEBIBYTE}`,
      ]);
      const answer = await askRaw(port, '', {
        lingerMs: 2_000,
        drive: (socket) => {
          socket.write(Buffer.concat([head, Buffer.from('refuse me')]));
          socket.write(Buffer.alloc(20 * MEBIBYTE - 9, 'x'));
        },
      });
      expectEnvelope(answer, 500);
      expect(answer.headers.get('connection')).toBe('close');
      expect(answer.closed).toBe(true);
    });

    it('survives clients that leave in the middle (U30)', async () => {
      const head = request('POST', '/api/v1/batches', ['Content-Type: application/json', 'Content-Length: 1000']);
      for (const path of ['batches', 'plain']) {
        const bytes = head.toString().replace('/batches', `/${path}`);
        await askRaw(port, '', { drive: (socket) => socket.write(`${bytes}{"a":`, () => socket.resetAndDestroy()) });
      }
      while (inFlight.size > 0) await delay(5);
      expect((await ask(request('GET', '/api/v1/batches/x'))).status).toBe(200);
    });
  });

  describe('long answers', () => {
    const long = Buffer.from(JSON.stringify({ text: LONG_TEXT }));

    it('arrive whole, with their length and what every answer says', async () => {
      const answer = await ask(request('GET', '/api/v1/long'));
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-length')).toBe(String(long.length));
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(Buffer.from(answer.body, 'latin1').equals(long)).toBe(true);
    });

    it('reserve memory until they were read', async () => {
      const socket = connect(port, '127.0.0.1').pause();
      const seen: number[] = [];
      const onRequest = (_request: unknown, response: ServerResponse): void => {
        response.once('pipe', () => seen.push(inFlight.pools.memory.reserved));
      };
      app.getHttpServer().once('request', onRequest);
      socket.write(request('GET', '/api/v1/long', ['Connection: close']));
      await new Promise((resolve) => socket.once('close', resolve).resume());
      expect(seen).toEqual([long.length]);
      while (inFlight.size > 0) await new Promise(setImmediate);
      expect(inFlight.pools.memory.reserved).toBe(0);
    });
  });

  describe('who is asking', () => {
    it('is judged before a byte of the body is read', async () => {
      const announced = ['Content-Type: text/plain', 'Content-Length: 100000000'];
      const answer = await ask(request('POST', '/api/v1/guarded', announced), 1_000);
      expectEnvelope(answer, 401);
      const known = await ask(request('POST', '/api/v1/guarded', [`Authorization: Bearer ${KEY}`, ...announced]), 50);
      expectEnvelope(known, 400);
    });

    it('keeps the connection when a small body came with the refused head', async () => {
      const answer = await post('guarded', '{}');
      expectEnvelope(answer, 401);
      expect(answer).toMatchObject({ closed: false });
      expect(answer.headers.get('connection')).not.toBe('close');
    });
  });

  describe('load', () => {
    const slow = (path: string, key?: string): Buffer =>
      request('POST', `/api/v1/${path}`, [
        'Content-Type: application/json',
        'Content-Length: 10',
        ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
      ]);

    /** Slow bodies until as many have arrived as there are; ends them all afterwards. */
    const during = async (bytes: Buffer, count: number, act: () => Promise<void>): Promise<void> => {
      const { working, arriving, publicWorking, publicArriving, memory } = inFlight.pools;
      const pools = [working, arriving, publicWorking, publicArriving];
      let refused = 0;
      const waiting = Array.from({ length: count }, async () => {
        await askRaw(port, bytes).catch(() => null);
        refused += 1;
      });
      await until(() => pools.reduce((sum, { taken }) => sum + taken, refused) >= count);
      await act();
      app.getHttpServer().closeAllConnections();
      await Promise.all(waiting);
      await until(() => inFlight.size === 0);
      expect(pools.map(({ taken }) => taken)).toEqual([0, 0, 0, 0]);
      expect(memory.reserved).toBe(0);
    };

    const until = async (isTrue: () => boolean): Promise<void> => {
      while (!isTrue()) await delay(5);
    };

    it('serves others and stays ready while bodies of public routes do not come', async () => {
      await during(slow('open'), 60, async () => {
        expect(inFlight.pools.publicArriving.taken).toBeLessThan(10);
        expect((await ask(request('GET', '/health/ready'))).status).toBe(200);
        expect((await ask(request('GET', '/api/v1/batches/x'))).status).toBe(200);
        expect((await post('plain', '{}')).status).toBe(201);
      });
    });

    it('serves others while bodies of one workspace do not come', async () => {
      await during(slow('plain'), 60, async () => {
        expect((await ask(request('GET', '/health/ready'))).status).toBe(200);
        // Bodies that are there need no place among those that arrive.
        expect((await post('plain', '{}')).status).toBe(201);
        const other = { headers: [`Authorization: Bearer ${OTHER_KEY}`, 'Content-Type: application/json'] };
        const answer = await askRaw(port, '', {
          drive: (socket) => {
            socket.write(request('POST', '/api/v1/plain', [...other.headers, 'Content-Length: 2']));
            setTimeout(() => socket.write('{}'), 30);
          },
        });
        expect(answer.status).toBe(201);
      });
    });

    it('refuses a workspace that takes more than its share of the places, and not another one', async () => {
      await during(
        request('POST', '/api/v1/batches', ['Content-Type: application/json', 'Content-Length: 10']),
        60,
        async () => {
          expect(inFlight.pools.working.taken).toBe(40);
          const answer = await post('plain', '{}');
          expectEnvelope(answer, 503);
          expect(answer.headers.get('retry-after')).toBe('1');
          expect((await post('plain', '{}', [`Authorization: Bearer ${OTHER_KEY}`])).status).toBe(201);
          expect((await ask(request('GET', '/health/live'))).status).toBe(200);
        },
      );
    });

    it('reserves memory for bodies that have not come, and leaves some for others', async () => {
      const heavy = request('POST', '/api/v1/infer', [
        'Content-Type: application/json',
        `Content-Length: ${4 * MEBIBYTE}`,
      ]);
      await during(heavy, 20, async () => {
        const { memory } = inFlight.pools;
        expect(memory.reserved).toBeLessThanOrEqual((2 / 3) * memory.bytes);
        const others = [`Authorization: Bearer ${OTHER_KEY}`];
        expect((await post('infer', `{"a":"${'x'.repeat(2 * MEBIBYTE)}"}`, others)).status).toBe(201);
        const another = await post('infer', `{"a":"${'x'.repeat(4 * MEBIBYTE)}"}`);
        expectEnvelope(another, 503);
        expect(another.headers.get('retry-after')).toBe('1');
      });
    }, 20_000);

    it('reserves memory for a body without a length as it comes', async () => {
      const head = request('POST', '/api/v1/infer', ['Content-Type: application/json', 'Transfer-Encoding: chunked']);
      const body = `{"a":"${'x'.repeat(20 * MEBIBYTE)}"}`;
      const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      expectEnvelope(await ask(Buffer.concat([head, Buffer.from(chunked)])), 413);
      await until(() => inFlight.size === 0);
      expect(inFlight.pools.memory.reserved).toBe(0);
    }, 20_000);

    it('takes at most 32 KiB on a public route, whatever the route takes', async () => {
      const padded = (length: number): string => `{"a":"${'x'.repeat(length - 8)}"}`;
      for (const path of ['open', 'open/infer']) {
        expect((await post(path, padded(32 * 1024))).status).toBe(201);
        expectEnvelope(await post(path, padded(32 * 1024 + 1)), 413);
      }
    });

    it('waits for the body of a public route for five seconds', async () => {
      const startedMs = performance.now();
      const answer = await askRaw(port, slow('open'));
      expectEnvelope(answer, 408);
      expect(performance.now() - startedMs).toBeLessThan(9_000);
    }, 20_000);
  });

  describe('the end', () => {
    it('is not ready and closes connections once the app drains', async () => {
      const serving = readiness.phase;
      readiness.drain();
      const draining = await ask(request('GET', '/health/ready'));
      expect(draining).toMatchObject({ status: 503, body: '{"status":"not_ready"}' });
      expect(draining.headers.get('connection')).toBe('close');
      expect(serving).toBe('serving');
    });
  });
});
