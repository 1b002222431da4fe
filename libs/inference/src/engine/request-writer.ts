import { dialectOf } from '../dialects';
import { inAccount } from '../dialects/asked-account';
import type { CallableApi } from '../dialects/dialect-pairs';
import type { Dialect } from '../dialects/dialect';
import { parseRequest } from '../dialects/request-members';
import type { CallerTranslation, Translation } from '../dialects/translation';
import { withoutUntaken } from '../dialects/untaken-parameters';
import type { CanonicalRequest } from '../model/canonical-request';
import type { InferenceRequest } from './inference-call';
import { LossLog, type LossReport } from '../model/loss-report';
import { providerAccountOf } from '../routing/account-of-request';
import type { Candidate } from '../routing/route-plan';

/** Who a request is written for. */
export type Addressee = Pick<Candidate, 'endpoint' | 'credential'>;

/** What is written, and what decides how. */
export type Addressed = Pick<InferenceRequest, 'body' | 'parsed' | 'scope' | 'policies' | 'preferences'>;

/** The dialects of a caller and of an endpoint. */
export interface WrittenPair {
  readonly caller: CallerTranslation;
  readonly upstream: Translation['upstream'];
}

/** A request as it is sent to an upstream, and what was lost in translation. */
interface Written {
  readonly sent: Buffer;
  readonly losses: LossReport;
}

/** Writes requests of callers for the endpoints that are tried. */
export class RequestWriter {
  /** A request is read once, however many endpoints are tried. */
  readonly #read = new WeakMap<Buffer, CanonicalRequest>();

  /** Registers the conversation of a body. The body is then never parsed in the caller's dialect. */
  know(body: Buffer, conversation: CanonicalRequest): void {
    this.#read.set(body, conversation);
  }

  /** Forgets the parsed form of a body that is not written again. */
  forget(body: Buffer): void {
    this.#read.delete(body);
  }

  /** The request for an endpoint that speaks the caller's API. */
  pass(
    api: CallableApi,
    addressee: Addressee,
    request: Addressed,
    isStream: boolean,
  ): Written & { readonly dialect: Dialect } {
    const dialect = dialectOf(api);
    const log = new LossLog();
    const account = providerAccountOf(addressee, request);
    const sent = dialect.toUpstream(request.body, addressee.endpoint, isStream, log, account);
    return { dialect, sent, losses: log.report() };
  }

  translate({ caller, upstream }: WrittenPair, addressee: Addressee, addressed: Addressed, isStream: boolean): Written {
    const { endpoint } = addressee;
    const { body, parsed } = addressed;
    const log = new LossLog();
    const request = this.#read.get(body) ?? caller.readRequest(parsed ?? parseRequest(body));
    this.#read.set(body, request);
    for (const member of request.unread) log.drop(member);
    const taken = inAccount(
      withoutUntaken(request, endpoint, log),
      endpoint,
      providerAccountOf(addressee, addressed),
      log,
    );
    const sent = Buffer.from(JSON.stringify(upstream.writeRequest(taken, endpoint, isStream, log)));
    return { sent, losses: log.report() };
  }
}
