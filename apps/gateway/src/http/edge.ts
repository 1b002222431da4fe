import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import { Readable } from 'node:stream';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { mintId } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { answerInTurn, type Readiness } from '@libs/platform';
import type { FastifyError, FastifyHttpOptions, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerClientError } from './client-error';
import { findExpectationProblem, isWaiting, keepExpectations } from './expectations';
import { edgeErrorResponse } from './edge-error.filter';
import { answerHealth } from './health-routes';
import { observeRequest } from './http-metrics';
import { RequestLife, type InFlight, type LiveRequest } from './in-flight';
import { KnownRoutes } from './known-routes';
import { closingLate, hasUnreadBody } from './late-close';
import { GatheringMessage } from './gathering-message';
import { currentUrl, shownPath } from './paths';
import { countRefusal } from './request-claim';
import { findHeadProblem, MAX_HEADER_KIB } from './request-head';
import { piecesOf } from './whole-answer';

export { API_PREFIX } from './paths';
/** Paths at the root of the site, as people and standards expect them. */
export const ROOT_ROUTES = [
  '.well-known/oauth-authorization-server',
  'auth',
  'auth/session',
  'auth/session/end',
  'docs',
  'docs/:file',
];

/** Length in characters or bytes from which an answer is watched for slow readers. */
const LONG_ANSWER = 64 * 1024;

/** Ids are short and model slugs have at most 300 characters; a longer path part is not an id. */
const MAX_PARAM_LENGTH = 1_024;

const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;
const EXPOSED_HEADERS =
  'X-Request-Id, X-Generation-Id, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-<Service>-Warning';

/**
 * Returns the limits of the HTTP server. Requests that they refuse are answered with the standard error body.
 * @param trustedProxies address ranges whose `X-Forwarded-For` is trusted
 */
export function edgeServerOptions(trustedProxies: readonly string[] = []): FastifyHttpOptions<Server> {
  return {
    ...(trustedProxies.length > 0 && { trustProxy: [...trustedProxies] }),
    http: {
      IncomingMessage: GatheringMessage,
      maxHeaderSize: MAX_HEADER_KIB * 1024,
      // Also limits a connection on which nothing has been sent yet.
      headersTimeout: 10_000,
      connectionsCheckingInterval: 2_000,
      // A missing Host header is refused later, with our error body.
      requireHostHeader: false,
      // Finds callers that vanished without a word.
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      // Uploads may take long if they make progress; each body has a separate idle limit.
      requestTimeout: 0,
      keepAliveTimeout: 72_000,
    },
    serverFactory: (listener, { http }) =>
      createServer(
        http as ServerOptions,
        answerInTurn(listener, () => countRefusal('pipelined')),
      ),
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: (request) => requestIdOf(request as IncomingMessage),
    rewriteUrl: (request) => currentUrl(request.url ?? '/'),
    clientErrorHandler: answerClientError,
    frameworkErrors: answerFrameworkError,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
  };
}

export interface EdgeParts {
  readonly readiness: Readiness;
  readonly inFlight: InFlight;
  /** The `<service>` of headers. */
  readonly serviceName: string;
}

/** Registers the steps that every request passes before its route. Must be called before the app is initialized. */
export function prepareEdge(app: NestFastifyApplication, { readiness, inFlight, serviceName }: EdgeParts): void {
  const exposed = EXPOSED_HEADERS.replace('<Service>', serviceName);
  const instance = app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
  const routes = new KnownRoutes();
  instance.addHook('onRoute', ({ method, url }) => routes.add(method, url));
  // The body guard reads bodies once the caller is known; no other code may read them earlier.
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    instance.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  instance.decorateRequest('life', null);
  keepExpectations(instance.server);
  instance.addHook('onRequest', (request, reply, done) => {
    follow(request, new RequestLife(commonHeaders(request, readiness, exposed), inFlight.pools, reply.raw), inFlight);
    const problem = findHeadProblem(request.raw) ?? findExpectationProblem(request.raw);
    if (problem !== null) done(problem);
    else if (request.is404 || hasEmptyParam(request)) answerUnrouted(request, reply, routes, done);
    else done();
  });
  instance.addHook('onSend', (request, reply, payload, done) => {
    const { headers } = (request as LiveRequest).life;
    for (let i = 0; i < headers.length; i += 2) reply.header(headers[i]!, headers[i + 1]);
    sendBesideUpload(request, reply, keepLong(request as LiveRequest, reply, payload), done);
  });
  for (const path of ['/health/live', '/health/ready']) {
    instance.get(path, (_request, reply) => answerHealth(path, readiness, reply));
  }
}

/** Returns the headers of every answer. Routes that write their answers without the framework add them too. */
function commonHeaders({ id, headers }: FastifyRequest, { phase }: Readiness, exposed: string): string[] {
  const common = ['x-request-id', id, 'x-content-type-options', 'nosniff', 'access-control-allow-origin', '*'];
  if (headers.origin !== undefined) common.push('access-control-expose-headers', exposed);
  if (phase === 'draining') common.push('connection', 'close');
  return common;
}

/** Counts and measures the request until its answer is sent or its connection closed. */
function follow(request: FastifyRequest, life: RequestLife, inFlight: InFlight): void {
  (request as LiveRequest).life = life;
  const raw = life.response!;
  raw.on('close', () => {
    if (!raw.writableFinished) life.endEarly('left');
    inFlight.leave(life);
    observeRequest(request, raw.statusCode, performance.now() - life.startedMs);
  });
  inFlight.enter(life);
}

function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : mintId('req');
}

/** Returns whether a part of the path is empty where an id or name belongs. The router takes it for one. */
function hasEmptyParam({ params }: FastifyRequest): boolean {
  const values = params as Readonly<Record<string, string>>;
  for (const name in values) if (values[name] === '' && name !== '*') return true;
  return false;
}

/** Answers a request without a route: a preflight (Fetch standard, CORS), a wrong method or a wrong path. */
function answerUnrouted(
  { method, url, headers }: FastifyRequest,
  reply: FastifyReply,
  routes: KnownRoutes,
  done: (error?: Error) => void,
): void {
  const [path = ''] = url.split('?', 1);
  const route = routes.routeOf(path);
  if (route === null) return done(unknownPath(path, routes.meantBy(path)));
  const allow = [...route.methods, 'OPTIONS'].join(', ');
  if (method !== 'OPTIONS') return done(wrongMethod(method, route.url, allow));
  reply.header('allow', allow);
  if (headers['access-control-request-method'] !== undefined) {
    reply.header('access-control-allow-methods', allow);
    reply.header('access-control-allow-headers', headers['access-control-request-headers'] ?? '*');
    reply.header('access-control-max-age', '7200');
    reply.header('vary', 'Access-Control-Request-Headers');
  }
  void reply.status(204).send();
}

function wrongMethod(method: string, url: string, allow: string): AppError {
  return new AppError('method_not_allowed', `${url} has no method ${method}; it has ${allow}`, {
    headers: { Allow: allow },
  });
}

function unknownPath(path: string, meant: string | null): AppError {
  const advice =
    meant === null ? 'The page /docs lists all routes' : `Did you mean ${meant}? Check the base URL of your client`;
  return new AppError('not_found', `There is no route ${shownPath(path)}. ${advice}`);
}

/** Returns a long answer in pieces. If it was made for its caller, it counts as memory until it is read. */
function keepLong<Payload>(request: LiveRequest, reply: FastifyReply, payload: Payload): Payload | Readable {
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
  if (payload.length <= LONG_ANSWER || request.method === 'HEAD' || hasUnreadBody(request.raw)) return payload;
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  // Buffers are not counted: they are catalogue pages and files of the reference, which all callers share.
  if (typeof payload === 'string') request.life.claim.keep(bytes.length);
  reply.header('content-length', bytes.length);
  return Readable.from(piecesOf(bytes), { objectMode: false });
}

/** A body of this size may still be in the packets that brought the head. */
const SMALL_BODY_BYTES = 64 * 1024;

/**
 * Sends an answer that is ready before the request's body has arrived. It closes the connection, but only after the
 * client could read the answer.
 */
function sendBesideUpload<Payload>(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: Payload,
  done: (error: null, payload?: unknown) => void,
): void {
  const { raw } = request;
  if (!hasUnreadBody(raw)) return done(null, payload);
  if (Number(raw.headers['content-length'] ?? Number.POSITIVE_INFINITY) > SMALL_BODY_BYTES) {
    return done(null, closeAfter(request, reply, payload));
  }
  setImmediate(() => done(null, hasUnreadBody(raw) ? closeAfter(request, reply, payload) : payload));
}

function closeAfter(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  reply.header('connection', 'close');
  const isWhole = typeof payload === 'string' || Buffer.isBuffer(payload);
  if (!isWhole || isWaiting(request.raw) || request.method === 'HEAD') return payload;
  reply.header('content-length', Buffer.byteLength(payload));
  return closingLate(request.raw, payload);
}

/** Paths that the router itself refuses. */
function answerFrameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const tooLong = error.code === 'FST_ERR_MAX_PARAM_LENGTH';
  const refusal = tooLong
    ? new AppError('not_found', `A part of the path is longer than ${MAX_PARAM_LENGTH} characters; no id or model is`)
    : new AppError('invalid_request', 'The path has a % that begins no escape; write it as %25');
  const { status, headers, body } = edgeErrorResponse(refusal, request);
  const always = {
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'access-control-allow-origin': '*',
  };
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  if (hasUnreadBody(request.raw)) {
    reply.raw.writeHead(status, { ...headers, ...always, ...length, connection: 'close' });
    closingLate(request.raw, body).pipe(reply.raw);
    return;
  }
  reply.raw.writeHead(status, { ...headers, ...always, ...length }).end(body);
}
