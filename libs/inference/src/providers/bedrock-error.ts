import type { IncomingHttpHeaders } from 'node:http';
import type { AppError } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';
import type { EventStreamMessage } from './event-stream-decoder';
import { readRetryAfterSeconds } from '../wire/retry-after';
import { complaintError, readComplaint } from '../wire/upstream-error';

const TYPE_HEADER = 'x-amzn-errortype';

/**
 * HTTP statuses by error type, in lower case and without `Exception`: for errors inside a stream, which have no status,
 * and for errors whose own status has a different meaning here.
 */
const STATUS_BY_TYPE: Readonly<Record<string, number>> = {
  validation: 400,
  throttling: 429,
  toomanyrequests: 429,
  servicequotaexceeded: 429,
  modelnotready: 503,
  serviceunavailable: 503,
  modeltimeout: 504,
  modelerror: 424,
  modelstreamerror: 424,
  internalserver: 500,
  resourcenotfound: 404,
  accessdenied: 403,
  notauthorized: 403,
  optinrequired: 403,
  unrecognizedclient: 403,
  invalidclienttokenid: 403,
  invalidsignature: 403,
  incompletesignature: 403,
  missingauthenticationtoken: 403,
  expiredtoken: 403,
  requestexpired: 403,
};

/** Messages of a 400 that are about our account or our catalogue, and the status to use for them. */
const OWN_TROUBLES: readonly (readonly [message: RegExp, status: number])[] = [
  [/^the provided model identifier is invalid|^invocation of model id|^this model version has reached/i, 404],
  [/^operation not allowed|^your account is not authorized|^access to [a-z0-9 ]{1,40} models is not allowed/i, 403],
];

/** Returns a refusal of Bedrock as our error. Its type is in a header, its message in the body. */
export function bedrockError(provider: Provider, status: number, headers: IncomingHttpHeaders, body: Buffer): AppError {
  const named = headers[TYPE_HEADER];
  return errorOf(provider, Array.isArray(named) ? named[0] : named, status, body, headers);
}

/** Returns the error that a message of a stream reports, or null for a message that is an event. */
export function errorWithin({ headers, payload }: EventStreamMessage, provider: Provider): AppError | null {
  switch (headers.get(':message-type')) {
    case 'exception':
      return errorOf(provider, headers.get(':exception-type'), 502, payload, {});
    case 'error': {
      const body = Buffer.from(JSON.stringify({ message: headers.get(':error-message') ?? '' }));
      return errorOf(provider, headers.get(':error-code'), 502, body, {});
    }
    default:
      return null;
  }
}

function errorOf(
  provider: Provider,
  named: string | undefined,
  status: number,
  body: Buffer,
  headers: IncomingHttpHeaders,
): AppError {
  const complaint = readComplaint(body);
  const type = plainType(named ?? complaint.code ?? '');
  const known = Object.hasOwn(STATUS_BY_TYPE, keyOf(type)) ? STATUS_BY_TYPE[keyOf(type)]! : status;
  const trouble = known === 400 && OWN_TROUBLES.find(([pattern]) => pattern.test(complaint.message ?? ''));
  const said = { ...complaint, code: type === '' ? null : type };
  return complaintError(provider, trouble ? trouble[1] : known, said, readRetryAfterSeconds(headers, body));
}

/** `com.amazon.coral.service#ThrottlingException:http://…` as `ThrottlingException`. */
function plainType(named: string): string {
  const name = named.split(':')[0]!.split('#').at(-1)!.trim();
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function keyOf(type: string): string {
  return type.replace(/(?:Exception|Error)$/, '').toLowerCase();
}
