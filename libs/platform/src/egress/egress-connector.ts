import { guardConnections } from '@libs/contracts';
import { systemCodeOf } from '@libs/errors';
import { buildConnector } from 'undici';
import { isSameAddress } from './address-guard';
import type { ResolvedAddress } from './resolved-address';

/** Code of the error for a host that must not be connected to. */
export const EGRESS_REFUSED = 'EGRESS_REFUSED';

export interface ConnectorOptions {
  readonly certificateAuthorities: string | undefined;
  /** 0: no clock of its own. */
  readonly timeoutMs: number;
  /** Ends a connection, even before it is made: undici itself ends a request only once it has a connection. */
  readonly signal?: AbortSignal;
}

/**
 * Connects only to addresses that were checked. The certificate is still verified against the name. An address in place
 * of a name is used directly, and was checked too.
 */
export function judgedConnector(
  addresses: readonly ResolvedAddress[],
  { certificateAuthorities, timeoutMs, signal }: ConnectorOptions,
): buildConnector.connector {
  const connect = guardConnections(
    buildConnector({
      allowH2: false,
      maxCachedSessions: 0,
      timeout: timeoutMs,
      autoSelectFamily: true,
      lookup: (_hostname, { all }, found) => {
        if (all) found(null, [...addresses]);
        else found(null, addresses[0]!.address, addresses[0]!.family);
      },
      ...(certificateAuthorities !== undefined && { ca: certificateAuthorities }),
      ...(signal !== undefined && { signal }),
    }),
  );
  return (connectOptions, callback) => {
    connect(connectOptions, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error !== null) return callback(error, null);
      // Checks the address that the system really connected to, before a byte of the request is written.
      const remote = socket.remoteAddress ?? '';
      if (addresses.some(({ address }) => isSameAddress(address, remote))) return callback(null, socket);
      socket.destroy();
      return callback(new Error('egress: connected to an address that was not judged'), null);
    });
  };
}

/**
 * Connects to the host of each connection after checking it: each connection resolves the name again. Errors have the
 * code `EGRESS_REFUSED`, or that of the name server, of TLS or of the operating system.
 */
export function guardedConnector(
  judge: (url: string) => Promise<readonly ResolvedAddress[]>,
  options: ConnectorOptions,
): buildConnector.connector {
  return (connectOptions, callback) => {
    const { protocol, hostname, port } = connectOptions;
    judge(`${protocol}//${hostname}${port ? `:${port}` : ''}/`).then(
      (addresses) => judgedConnector(addresses, options)(connectOptions, callback),
      (thrown: unknown) => callback(connectError(thrown), null),
    );
  };
}

function connectError(thrown: unknown): Error {
  const error = new Error('egress: the host must not be connected to, or has no address', { cause: thrown });
  return Object.assign(error, { code: codeOf(thrown) ?? EGRESS_REFUSED });
}

/** The code of the name server's error, which is the cause of the thrown error. */
function codeOf(thrown: unknown): string | null {
  return thrown instanceof Error ? systemCodeOf(thrown.cause) : null;
}
