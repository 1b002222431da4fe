import { AppError } from '@libs/errors';
import { readTokenCount, toTokenCount } from '../dialects/anthropic-messages';
import type { ProviderAdapter } from '../providers/provider';
import { providerAccountOf } from '../routing/account-of-request';
import type { Candidate } from '../routing/route-plan';
import { upstreamStatusOf } from '../wire/upstream-error';
import { unusable, type TimedRequest, type UpstreamCalls } from './upstream-calls';

/** Statuses with which a server answers requests for a route that it does not have. */
const NO_ROUTE: ReadonlySet<number | null> = new Set([404, 405, 501]);

/** Asks providers to count the tokens of prompts for `messages`. */
export class TokenCounter {
  constructor(
    /** Adapters by protocol. */
    private readonly adapters: ReadonlyMap<string, ProviderAdapter>,
    private readonly calls: UpstreamCalls,
  ) {}

  /** Returns whether an endpoint's provider is known to count tokens. */
  readonly canCount = ({ endpoint }: Candidate): boolean =>
    endpoint.apis.includes('messages') && this.adapters.get(endpoint.provider.protocol)?.countTokens !== undefined;

  /**
   * Returns the provider's count of input tokens; null if it has no such route. Many servers have only the rest of this
   * API.
   */
  async count(candidate: Candidate, request: TimedRequest): Promise<number | null> {
    const { endpoint } = candidate;
    const adapter = this.adapters.get(endpoint.provider.protocol);
    if (adapter?.countTokens === undefined) throw unusable(endpoint, 'tokens cannot be counted');
    const sent = toTokenCount(request.body, endpoint, providerAccountOf(candidate, request));
    const call = await this.calls.callOf(candidate, request, sent);
    const counted = await adapter.countTokens(call).catch(unlessNoRoute);
    return counted && readTokenCount(counted.body, endpoint.provider);
  }
}

function unlessNoRoute(thrown: unknown): null {
  if (thrown instanceof AppError && NO_ROUTE.has(upstreamStatusOf(thrown))) return null;
  throw thrown;
}
