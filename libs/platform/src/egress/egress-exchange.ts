import { AppError } from '@libs/errors';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { isSameAddress } from './address-guard';
import { discardBody, readBody } from './egress-body';
import type { EgressTarget } from './egress-target';
import type { ResolvedAddress } from './resolved-address';

export interface HopRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly maxBytes: number;
  readonly sink?: (chunk: Buffer) => Promise<void>;
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

/** One request over one connection to one of the judged addresses; the connection is closed afterwards. */
export async function exchangeOnce(
  target: EgressTarget,
  addresses: readonly ResolvedAddress[],
  request: HopRequest,
  options: HopOptions,
): Promise<HopAnswer> {
  const client = new Client(originOf(target), { connect: judgedConnector(addresses, options), allowH2: false });
  try {
    const answer = await client.request({
      method: request.method ?? 'GET',
      path: target.url.pathname + target.url.search,
      headers: { 'accept-encoding': 'gzip, br', ...request.headers },
      body: request.body ?? null,
      signal: options.signal,
      // The deadline of the whole exchange is the one clock.
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
  { maxBytes, sink }: HopRequest,
  subject: string,
): Promise<HopAnswer> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  if (maxBytes === 0) {
    discardBody(body);
    return { status: statusCode, headers: plain, body: Buffer.alloc(0) };
  }
  const isSuccess = statusCode >= 200 && statusCode < 300;
  const bounds = { maxBytes, subject, ...(isSuccess && sink && { sink }) };
  return { status: statusCode, headers: plain, body: await readBody(body, plain, bounds) };
}

/**
 * Connects to addresses that were judged and to no other. The name stays what the certificate is checked
 * against; an address in place of a name is connected to as it is, and was judged too.
 */
function judgedConnector(addresses: readonly ResolvedAddress[], options: HopOptions): buildConnector.connector {
  const connect = buildConnector({
    allowH2: false,
    maxCachedSessions: 0,
    // The deadline of the whole exchange is the one clock.
    timeout: 0,
    autoSelectFamily: true,
    lookup: (_hostname, { all }, found) => {
      if (all) found(null, [...addresses]);
      else found(null, addresses[0]!.address, addresses[0]!.family);
    },
    ...(options.certificateAuthorities !== undefined && { ca: options.certificateAuthorities }),
  });
  return (connectOptions, callback) => {
    connect(connectOptions, (error, socket) => {
      if (error !== null) return callback(error, null);
      // What the system connected to has the last word, before a byte of the request is written.
      const remote = socket.remoteAddress ?? '';
      if (addresses.some(({ address }) => isSameAddress(address, remote))) return callback(null, socket);
      socket.destroy();
      return callback(new Error('egress: connected to an address that was not judged'), null);
    });
  };
}

function originOf({ url, hostname, literal }: EgressTarget): string {
  const host = literal?.family === 6 ? `[${hostname}]` : hostname;
  return `https://${host}${url.port === '' ? '' : `:${url.port}`}`;
}

function unreachable(subject: string, error: unknown): AppError {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'no code';
  return new AppError('provider_unavailable', `${subject} cannot be reached: the exchange with its host failed`, {
    cause: error,
    internal: `egress: ${code}`,
  });
}
