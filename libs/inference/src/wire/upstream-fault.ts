import { AppError, type AppErrorDetails, type ErrorCode } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';

/** Kept apart from the errors, because a caller does not see whose fault an error is. */
const faults = new WeakSet<AppError>();

/**
 * Returns an error that an exchange with an upstream produced: the upstream refused, sent an invalid answer, ran out
 * of time, or its connection failed. Only errors made here count against a provider's health; all others are the
 * gateway's own. `details.metadata` follows the provider's name.
 */
export function upstreamFault(
  provider: Provider,
  code: ErrorCode,
  message: string,
  { metadata, ...details }: AppErrorDetails,
): AppError {
  const error = new AppError(code, message, { ...details, metadata: { provider_name: provider.name, ...metadata } });
  faults.add(error);
  return error;
}

/** Whether an exchange with an upstream produced this very error. */
export function isUpstreamFault(error: AppError): boolean {
  return faults.has(error);
}

/**
 * What a connection to an upstream ends with: codes of the operating system and of name servers, of TLS, of the parser
 * of HTTP, that of a host at an address that must not be called, and those of the HTTP client that say what the
 * upstream did. Codes for what we ask of the client, or have
 * run out of (files, ports, memory), are not among them.
 */
const CONNECTION_FAULTS: readonly RegExp[] = [
  /^E(?:CONNREFUSED|CONNRESET|CONNABORTED|PIPE|TIMEDOUT|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN|NETRESET|PROTO)$/,
  /^(?:ENOTFOUND|ENODATA|EAI_[A-Z]+)$/,
  /^(?:ERR_SSL_|ERR_TLS_CERT_|ERR_TLS_HANDSHAKE_|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED)/,
  /^(?:HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/,
  /^(?:HPE_\w+|HTTPParserError)$/,
  /^EGRESS_REFUSED$/,
  /^UND_ERR_(?:CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH|SOCKET|INFO)$/,
];

/** Whether the code of an error of the HTTP client, or its name where it has none, says that the connection to the upstream failed. */
export function isConnectionFault(code: string): boolean {
  return CONNECTION_FAULTS.some((pattern) => pattern.test(code));
}
