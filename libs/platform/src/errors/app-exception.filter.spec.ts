import { Controller, Get, HttpException, NotFoundException, Post, Body, Res, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppError } from '@libs/errors';
import type { FastifyReply } from 'fastify';
import { AppExceptionFilter } from './app-exception.filter';

class RecordingLogger implements LoggerService {
  readonly errors: unknown[][] = [];
  readonly debugs: unknown[][] = [];
  log(): void {}
  warn(): void {}
  error(...parts: unknown[]): void {
    this.errors.push(parts);
  }
  debug(...parts: unknown[]): void {
    this.debugs.push(parts);
  }
}

@Controller()
class FailingController {
  @Get('not-found') notFound(): never {
    throw new AppError('not_found', 'No such key', { internal: 'canary', metadata: { param: 'id' } });
  }

  @Get('limited') limited(): never {
    throw new AppError('rate_limit_exceeded', 'Slow down', {
      retryAfterSeconds: 0.2,
      headers: { 'X-RateLimit-Limit': '10', 'X-Bad': 'a\r\nb', 'bad name': 'x' },
    });
  }

  @Get('broken') broken(): never {
    throw new Error('canary', { cause: new Error('deep canary') });
  }

  @Get('server') server(): never {
    throw new AppError('server', 'canary', { metadata: { table: 'canary' } });
  }

  @Get('upstream') upstream(): never {
    throw Object.assign(new Error('canary'), { statusCode: 401, headers: { 'set-cookie': 'x' } });
  }

  @Get('primitive') primitive(): never {
    // eslint-disable-next-line no-throw-literal
    throw 'canary';
  }

  @Get('circular') circular(): never {
    const metadata: Record<string, unknown> = { count: 1n };
    metadata.self = metadata;
    throw new AppError('invalid_request', 'Bad', { metadata });
  }

  @Get('nest') nest(): never {
    throw new NotFoundException('canary');
  }

  @Get('teapot') teapot(): never {
    throw new HttpException('canary', 418);
  }

  @Get('with-headers') withHeaders(@Res() reply: FastifyReply): never {
    void reply.header('content-length', '5').header('content-encoding', 'gzip');
    throw new AppError('conflict', 'Taken');
  }

  @Get('hijacked') hijacked(@Res() reply: FastifyReply): never {
    reply.hijack();
    throw new AppError('provider_unavailable', 'Upstream is gone');
  }

  @Get('begun') begun(@Res() reply: FastifyReply): never {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
    reply.raw.write('data: first\n\n');
    throw new AppError('provider_unavailable', 'Upstream is gone');
  }

  @Get('finished') finished(@Res() reply: FastifyReply): never {
    reply.hijack();
    reply.raw.writeHead(200);
    reply.raw.end('whole');
    throw new Error('after the end');
  }

  @Post('body') body(@Body() body: unknown): unknown {
    return { body };
  }
}

class FailingModule {}
Reflect.defineMetadata('controllers', [FailingController], FailingModule);

describe(AppExceptionFilter.name, () => {
  let app: NestFastifyApplication;
  let logger: RecordingLogger;

  beforeEach(async () => {
    logger = new RecordingLogger();
    app = await NestFactory.create<NestFastifyApplication>(FailingModule, new FastifyAdapter({ bodyLimit: 100 }), {
      logger: false,
      abortOnError: false,
    });
    app.useGlobalFilters(new AppExceptionFilter(logger));
    await app.listen(0, '127.0.0.1');
  });

  afterEach(() => app.close());

  const get = (url: string) => app.inject({ method: 'GET', url });
  const post = (payload: string, contentType = 'application/json') =>
    app.inject({ method: 'POST', url: '/body', headers: { 'content-type': contentType }, payload });

  it('gives an AppError its status, message, metadata and type', async () => {
    const response = await get('/not-found');
    expect(response.statusCode).toBe(404);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.json()).toEqual({
      error: { code: 404, message: 'No such key', metadata: { error_type: 'not_found', param: 'id' } },
    });
  });

  it('sends Retry-After in whole seconds and the headers of the error that can be sent', async () => {
    const { statusCode, headers } = await get('/limited');
    expect(statusCode).toBe(429);
    expect(headers).toMatchObject({ 'retry-after': '1', 'x-ratelimit-limit': '10' });
    expect(headers).not.toHaveProperty('x-bad');
    expect(headers).not.toHaveProperty('bad name');
  });

  it.each(['/broken', '/server', '/upstream', '/primitive'])('masks what went wrong inside at %s', async (url) => {
    const response = await get(url);
    expect(response.json()).toEqual({
      error: { code: 500, message: 'Internal error', metadata: { error_type: 'server' } },
    });
    expect(JSON.stringify([response.headers, response.body])).not.toContain('canary');
  });

  it('logs a failure of ours with its cause and without the query, a refusal for debugging only', async () => {
    await get('/broken?api_key=canary');
    await get('/not-found');
    expect(logger.errors).toHaveLength(1);
    const fields = logger.errors[0]?.[1] as { err: AppError; path: string };
    expect(fields).toMatchObject({ code: 'server', status: 500, method: 'GET', path: '/broken' });
    expect(((fields.err.cause as Error).cause as Error).message).toBe('deep canary');
    expect(logger.debugs).toHaveLength(1);
  });

  it('answers although the metadata cannot be written', async () => {
    const response = await get('/circular');
    expect([response.statusCode, response.json()]).toEqual([400, { error: { code: 400, message: 'Bad' } }]);
  });

  it('says what the framework refused in our words', async () => {
    expect((await get('/nowhere?api_key=canary')).json()).toEqual({
      error: { code: 404, message: 'Not found', metadata: { error_type: 'not_found' } },
    });
    expect((await get('/nest')).body).not.toContain('canary');
    expect((await get('/teapot')).json()).toMatchObject({ error: { code: 400 } });
    expect((await post('{"a":')).statusCode).toBe(400);
    expect((await post('')).statusCode).toBe(400);
    expect((await post('{"__proto__":{}}')).statusCode).toBe(400);
    expect((await post('<a/>', 'application/xml')).json()).toMatchObject({ error: { code: 400 } });
    expect((await post(JSON.stringify('x'.repeat(200)))).json()).toMatchObject({
      error: { code: 413, metadata: { error_type: 'payload_too_large' } },
    });
    expect((await post('{"a":1}')).json()).toEqual({ body: { a: 1 } });
  });

  it('answers HEAD without a body', async () => {
    const response = await app.inject({ method: 'HEAD', url: '/not-found' });
    expect([response.statusCode, response.body]).toEqual([404, '']);
  });

  it('drops what a handler had said of the body it could not make', async () => {
    const response = await get('/with-headers');
    expect(response.statusCode).toBe(409);
    expect(response.headers).not.toHaveProperty('content-encoding');
    expect(Number(response.headers['content-length'])).toBe(response.body.length);
  });

  it('answers for a handler that took over the response and failed before its first byte', async () => {
    const response = await fetch(`${await app.getUrl()}/hijacked`);
    expect([response.status, await response.json()]).toEqual([
      502,
      { error: { code: 502, message: 'Upstream is gone', metadata: { error_type: 'provider_unavailable' } } },
    ]);
  });

  it('cuts a response that has begun and writes nothing more into it', async () => {
    const response = await fetch(`${await app.getUrl()}/begun`);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  it('leaves a response alone that had ended', async () => {
    const response = await fetch(`${await app.getUrl()}/finished`);
    expect([response.status, await response.text()]).toEqual([200, 'whole']);
    expect(logger.errors).toHaveLength(1);
  });
});
