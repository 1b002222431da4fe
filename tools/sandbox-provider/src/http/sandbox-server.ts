import { hash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { deliver } from './delivery';
import { readBody } from './request-body';
import { errorReply, SandboxError, type Dialect } from './sandbox-error';
import type { CallCounts } from './call-counts';
import type { Reply } from './reply';
import type { RouteMatch, RouteTable } from './route-table';

/** Longer than the pools of usual clients keep a connection, so that it is they who close it. */
const KEEP_ALIVE_MS = 75_000;
const SWEEP_MS = 50;
const NO_QUERY = new URLSearchParams();
const EMPTY_BODY = Buffer.alloc(0);

export interface ServerOptions {
  readonly routes: RouteTable;
  readonly counts: CallCounts;
  readonly apiKey: string | undefined;
  readonly latencyMs: number;
}

/** The HTTP server: finds the route, checks the key, reads the body, and sends the route's answer. */
export class SandboxServer {
  readonly server: Server;
  private readonly keyDigest: Buffer | null;
  private isDraining = false;

  constructor(private readonly options: ServerOptions) {
    this.keyDigest = options.apiKey === undefined ? null : digest(options.apiKey);
    this.server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, noDelay: true }, (request, response) => {
      void this.serve(request, response);
    });
  }

  /** Answers running calls for at most `drainMs`, then closes every connection. */
  async close(drainMs: number): Promise<void> {
    this.isDraining = true;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    const deadline = setTimeout(() => this.server.closeAllConnections(), drainMs);
    // A kept connection becomes idle when its last answer was sent, and no event reports that.
    const sweep = setInterval(() => this.server.closeIdleConnections(), SWEEP_MS);
    await closed;
    clearTimeout(deadline);
    clearInterval(sweep);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const dialect: Dialect = path.startsWith('/v1/messages') ? 'anthropic' : 'openai';
    if (this.isDraining) response.shouldKeepAlive = false;
    let reply: Reply;
    try {
      const query = mark < 0 ? NO_QUERY : new URLSearchParams(url.slice(mark + 1));
      reply = await this.answer(request, this.findRoute(request, path), query);
    } catch (error) {
      reply = errorReply(dialect, refusalOf(error));
    }
    if (!response.destroyed) deliver(response, reply, this.options.latencyMs);
  }

  private async answer(request: IncomingMessage, match: RouteMatch, query: URLSearchParams): Promise<Reply> {
    const body = request.method === 'GET' ? EMPTY_BODY : await readBody(request, match.route.limitBytes);
    if (match.route.isOpen !== true) this.authenticate(request);
    this.options.counts.countRoute(match.name);
    return match.route.handle({ headers: request.headers, query, id: match.id, body });
  }

  private findRoute(request: IncomingMessage, path: string): RouteMatch {
    const match = this.options.routes.find(request.method ?? '', path);
    if (match) return match;
    request.resume();
    if (this.options.routes.knowsPath(path)) throw new SandboxError(405, 'Method not allowed for this URL');
    throw new SandboxError(404, 'Invalid URL', null, 'unknown_url');
  }

  private authenticate(request: IncomingMessage): void {
    if (!this.keyDigest) return;
    const apiKey = request.headers['x-api-key'];
    const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const given = bearer ?? (typeof apiKey === 'string' ? apiKey : undefined);
    if (given === undefined || !timingSafeEqual(digest(given), this.keyDigest)) {
      throw new SandboxError(401, 'Incorrect API key provided, or none', null, 'invalid_api_key');
    }
  }
}

/** Anything that is not a refusal is a bug of the sandbox itself, which is reported without details. */
function refusalOf(error: unknown): SandboxError {
  return error instanceof SandboxError ? error : new SandboxError(500, '[sandbox] The call could not be answered');
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
