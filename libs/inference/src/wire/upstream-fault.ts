import { AppError, type AppErrorDetails, type ErrorCode } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';

/** Stored outside the errors, because a caller must not see whose fault an error is. */
const faults = new WeakSet<AppError>();

/**
 * Returns an error that came from an exchange with an upstream: the upstream refused, sent an invalid answer, timed
 * out, or its connection failed. Only these errors count against a provider's health; all others are the gateway's own.
 * `details.metadata` is added after the provider's name.
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

/** Returns whether this error came from an exchange with an upstream. */
export function isUpstreamFault(error: AppError): boolean {
  return faults.has(error);
}

/**
 * Codes with which a connection to an upstream fails: of the operating system, of name servers, of TLS, of the HTTP
 * parser, of a host whose address must not be called or whose answers are refused, and of the HTTP client about the
 * upstream's behaviour. Codes for wrong use of the client, or for a shortage here (files, ports, memory), are not
 * listed.
 */
const CONNECTION_FAULTS: readonly RegExp[] = [
  /^E(?:CONNREFUSED|CONNRESET|CONNABORTED|PIPE|TIMEDOUT|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN|NETRESET|PROTO)$/,
  /^(?:ENOTFOUND|ENODATA|EAI_[A-Z]+)$/,
  /^(?:ERR_SSL_|ERR_TLS_CERT_|ERR_TLS_HANDSHAKE_|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED)/,
  /^(?:HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/,
  /^(?:HPE_\w+|HTTPParserError)$/,
  /^(?:EGRESS_REFUSED|ANSWER_REFUSED)$/,
  /^UND_ERR_(?:CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH|SOCKET|INFO)$/,
];

/**
 * Returns whether the code of an HTTP client error, or its name if it has no code, means that the upstream connection
 * failed.
 */
export function isConnectionFault(code: string): boolean {
  return CONNECTION_FAULTS.some((pattern) => pattern.test(code));
}
