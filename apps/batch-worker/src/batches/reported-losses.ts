import { spliceMembers } from '@libs/json';
import {
  directMetadata,
  translationReport,
  type Api,
  type Attempt,
  type Candidate,
  type LossReport,
  type UpstreamApi,
} from '@libs/inference';

/** A batch line's answer and where it came from. */
export interface LineAnswer extends Candidate {
  readonly body: Buffer;
  readonly attempts: readonly Attempt[];
  readonly losses: LossReport;
}

/** What was asked: the model by the name in the batch, and the APIs of the caller and of the endpoint. */
export interface LineRoute {
  readonly requested: string;
  readonly from: Api;
  readonly to: () => UpstreamApi;
}

/**
 * Returns the body of an answer. If fields of the request were left out or changed, the body gets the metadata of a
 * single call, because a result has no headers and its caller no other way to learn of it.
 */
export function withReportedLosses(serviceName: string, answer: LineAnswer, route: LineRoute): Buffer {
  const { body, losses } = answer;
  if (losses.dropped.length + losses.approximated.length === 0) return body;
  const translation = translationReport(route.from, route.to(), losses);
  const metadata = directMetadata(route.requested, answer, translation);
  return spliceMembers(body, { set: { [`${serviceName}_metadata`]: JSON.stringify(metadata) } });
}
