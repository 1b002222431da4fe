import { dayOfId } from '@libs/contracts';
import { estimatePrompt, type PromptEstimate } from '@libs/inference';
import { keyLimitOf, type GenerationOpening } from '@libs/persistence';
import { requireWorkspace } from '../auth/require-workspace';
import { traceparentOf } from '../generations/caller-trace';
import type { IncomingCall } from '../generations/incoming-call';

/** Thousands of consecutive ids contain the same second, and so the same day. */
let lastSecond = '';
let lastDay = '';

export function dayOf(generationId: string): string {
  const second = generationId.slice(0, generationId.lastIndexOf('-'));
  if (second !== lastSecond) {
    lastDay = dayOfId(generationId) ?? '';
    lastSecond = second;
  }
  return lastDay;
}

/** Returns the estimate of the prompt. Makes it now if the reader of the body did not. */
export function promptOf({ prompt, body, pdfs }: IncomingCall): PromptEstimate {
  const estimate = prompt ?? estimatePrompt(body);
  return estimate.pdfs.length === 0 || pdfs === undefined ? estimate : pdfs.settle(estimate, body);
}

/**
 * Returns the facts to record when a call begins.
 * @throws AppError permission_denied for a key without a workspace
 */
export function openingOf(
  call: IncomingCall,
  about: Pick<GenerationOpening, 'api' | 'model' | 'streamed'>,
): Omit<GenerationOpening, 'holdUsd'> {
  const { generationId, caller } = call;
  return {
    id: generationId,
    createdOn: dayOf(generationId),
    organizationId: caller.organizationId,
    workspaceId: requireWorkspace(caller),
    apiKeyHash: caller.keyHash,
    ...about,
    keyLimit: keyLimitOf(caller),
    budgets: caller.budgets,
  };
}

/** Returns the `traceparent` of the span that caused the call, from the header or from the body's `trace`. */
export function causeOf({ client, parsed }: Pick<IncomingCall, 'client' | 'parsed'>): string | undefined {
  return client?.traceparent ?? traceparentOf((parsed as { readonly trace?: unknown }).trace);
}
