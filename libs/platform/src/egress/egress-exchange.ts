import { AppError, systemCodeOf } from '@libs/errors';
import { Client, type Dispatcher } from 'undici';
import { discardBody, readBody } from './egress-body';
import { judgedConnector } from './egress-connector';
import type { EgressTarget } from './egress-target';
import type { ResolvedAddress } from './resolved-address';

export interface HopRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly maxBytes: number;
  readonly maxRedirects?: number;
  readonly sink?: (chunk: Buffer) => Promise<void>;
  readonly reserve?: (bytes: number) => Promise<void> | undefined;
}

export interface HopAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface HopOptions {
  readonly signal: AbortSignal;
  readonly certificateAuthorities: string | undefined;
}

/** Sends one request over one connection to one of the checked addresses; the connection is closed afterwards. */
export async function exchangeOnce(
  target: EgressTarget,
  addresses: readonly ResolvedAddress[],
  request: HopRequest,
  options: HopOptions,
): Promise<HopAnswer> {
  // Only the deadline of the whole exchange applies.
  const connect = judgedConnector(addresses, { ...options, timeoutMs: 0 });
  const client = new Client(originOf(target), { connect, allowH2: false });
  try {
    const answer = await client.request({
      method: request.method ?? 'GET',
      path: target.url.pathname + target.url.search,
      headers: { 'accept-encoding': 'gzip, br', ...request.headers },
      body: request.body ?? null,
      signal: options.signal,
      // Only the deadline of the whole exchange applies.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return await readAnswer(answer, request, target.subject);
  } catch (error) {
    throw error instanceof AppError ? error : unreachable(target.subject, error);
  } finally {
    await client.destroy();
  }
}

async function readAnswer(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  { maxBytes, maxRedirects, sink, reserve }: HopRequest,
  subject: string,
): Promise<HopAnswer> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  const isFollowed = maxRedirects !== undefined && redirectOf(statusCode, plain) !== null;
  if (maxBytes === 0 || isFollowed) {
    discardBody(body);
    return { status: statusCode, headers: plain, body: Buffer.alloc(0) };
  }
  const isSuccess = statusCode >= 200 && statusCode < 300;
  const bounds = { maxBytes, subject, reserve, ...(isSuccess && sink && { sink }) };
  return { status: statusCode, headers: plain, body: await readBody(body, plain, bounds) };
}

/** Returns where an answer redirects to; null for one that does not. */
export function redirectOf(status: number, headers: HopAnswer['headers']): string | null {
  return [301, 302, 303, 307, 308].includes(status) ? (headers['location'] ?? null) : null;
}

function originOf({ url, hostname, literal }: EgressTarget): string {
  const host = literal?.family === 6 ? `[${hostname}]` : hostname;
  return `https://${host}${url.port === '' ? '' : `:${url.port}`}`;
}

function unreachable(subject: string, error: unknown): AppError {
  return new AppError('provider_unavailable', `${subject} cannot be reached: the exchange with its host failed`, {
    cause: error,
    internal: `egress: ${systemCodeOf(error) ?? 'no code'}`,
  });
}
