import type { Endpoint } from '../catalogue/catalogue';
import { dialectOf } from '../dialects';
import { inAccount } from '../dialects/asked-account';
import type { CallableApi } from '../dialects/dialect-pairs';
import type { Dialect } from '../dialects/dialect';
import type { CallerTranslation, Translation } from '../dialects/translation';
import { withCappedOutput } from '../dialects/output-cap';
import { parseRequest } from '../dialects/request-members';
import { withTakenTools } from '../dialects/free-text-tools';
import { withoutUntaken } from '../dialects/untaken-parameters';
import type { InferenceRequest } from './inference-call';
import { RequestReading } from './request-reading';
import { LossLog, type LossReport } from '../model/loss-report';
import { outputCapMember } from '../model/output-limit';
import type { ProviderAccount } from '../model/provider-account';
import { lostBetas } from '../providers/anthropic-betas';
import { providerAccountOf } from '../routing/account-of-request';
import type { Candidate } from '../routing/route-plan';

/** The endpoint and key for which a request is written. */
export type Addressee = Pick<Candidate, 'endpoint' | 'credential'>;

/** The content to write, and the facts that decide how it is written. */
export type Addressed = Pick<
  InferenceRequest,
  'body' | 'parsed' | 'reading' | 'betas' | 'scope' | 'policies' | 'preferences'
>;

/** The dialects of a caller and of an endpoint. */
export interface WrittenPair {
  readonly caller: CallerTranslation;
  readonly upstream: Translation['upstream'];
}

/** A request in the form in which it is sent upstream, and the settings that were lost in translation. */
interface Written {
  readonly sent: Buffer;
  readonly losses: LossReport;
}

/** Returns the request for an endpoint that has the caller's API. */
export function passRequest(
  api: CallableApi,
  addressee: Addressee,
  request: Addressed,
  isStream: boolean,
): Written & { readonly dialect: Dialect } {
  const dialect = dialectOf(api);
  const log = lossLogFor(addressee, request);
  const account = providerAccountOf(addressee, request);
  const sent = dialect.toUpstream(request.body, addressee.endpoint, isStream, log, account);
  return { dialect, sent, losses: log.report() };
}

/** Returns the request for an endpoint that has another API. */
export function translateRequest(
  pair: WrittenPair,
  addressee: Addressee,
  addressed: Addressed,
  isStream: boolean,
): Written {
  const log = lossLogFor(addressee, addressed);
  const account = providerAccountOf(addressee, addressed);
  const sent = writeTranslated(pair, addressed, { endpoint: addressee.endpoint, account, isStream }, log);
  return { sent, losses: log.report() };
}

/** Returns one line of a batch for an endpoint. `pair` is null if the endpoint has the caller's API. */
export function writeLine(
  api: CallableApi,
  pair: WrittenPair | null,
  body: Buffer,
  { endpoint, account }: Pick<Destination, 'endpoint' | 'account'>,
): Written {
  const log = new LossLog();
  const sent =
    pair === null
      ? dialectOf(api).toUpstream(body, endpoint, false, log, account)
      : writeTranslated(pair, { body }, { endpoint, account, isStream: false }, log);
  return { sent, losses: log.report() };
}

interface Destination {
  readonly endpoint: Endpoint;
  readonly account: ProviderAccount;
  readonly isStream: boolean;
}

function writeTranslated(
  { caller, upstream }: WrittenPair,
  { body, parsed, reading = new RequestReading() }: Pick<Addressed, 'body' | 'parsed' | 'reading'>,
  { endpoint, account, isStream }: Destination,
  log: LossLog,
): Buffer {
  const request = reading.read(caller, body, parsed);
  for (const member of request.unread) log.drop(member);
  const capMember = (): string => outputCapMember(parsed ?? parseRequest(body));
  const capped = withCappedOutput(withoutUntaken(request, endpoint, log), endpoint, log, capMember);
  const taken = withTakenTools(upstream, endpoint, inAccount(capped, endpoint, account, log), log);
  return Buffer.from(JSON.stringify(upstream.writeRequest(taken, endpoint, isStream, log)));
}

function lossLogFor({ endpoint, credential }: Addressee, { betas }: Addressed): LossLog {
  const isOwnKey = Boolean(credential);
  const log = new LossLog();
  if (betas !== undefined) for (const beta of lostBetas(betas, { endpoint, isOwnKey })) log.drop(beta);
  return log;
}
