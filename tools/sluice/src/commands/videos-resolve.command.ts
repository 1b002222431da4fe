import { VIDEO_ID } from '@libs/contracts';
import { AuditRepository, VideoReviewsRepository, type ReviewVerdict } from '@libs/persistence';
import { flag, optionalText, positional, UsageError, type Command, type CommandArguments } from '../command';
import { operatorAtWork } from '../operator';

/** Form of providers' job ids: `video_69a3`, `models/veo-3/operations/h2k1`. */
const UPSTREAM_ID = /^(?!.*\.\.)[\w.:/-]{1,1000}$/;

/** Resolves a job in review, once an operator has checked whether the provider has it. */
export const videosResolve: Command = {
  name: 'videos resolve',
  summary: 'Say of a video job in review what became of it at the provider',
  usage: 'ID (--submitted UPSTREAM_ID | --failed)',
  options: { submitted: { type: 'string' }, failed: { type: 'boolean' } },
  positionals: ['ID'],
  async run(args, installation) {
    const id = positional(args, 0);
    if (!VIDEO_ID.test(id)) throw new UsageError('ID must be that of a video, as `videos in-review` shows it');
    const verdict = verdictOf(args);
    const database = await installation.database();
    const { operator, requestId } = operatorAtWork();
    await new VideoReviewsRepository(database, new AuditRepository(database)).resolve(id, verdict, {
      operator,
      requestId,
    });
    const data = { id, resolved_as: verdict.kind, operator, request_id: requestId };
    if (verdict.kind === 'submitted') return { data, text: `${id} is asked after at its provider from now on.` };
    return { data, text: `${id} ends as failed now: nothing is charged, its hold is given back, its caller is told.` };
  },
};

function verdictOf(args: CommandArguments): ReviewVerdict {
  const upstreamId = optionalText(args, 'submitted');
  if ((upstreamId === undefined) !== flag(args, 'failed')) {
    throw new UsageError('either --submitted UPSTREAM_ID or --failed is required');
  }
  if (upstreamId === undefined) return { kind: 'failed' };
  if (!UPSTREAM_ID.test(upstreamId)) throw new UsageError('UPSTREAM_ID must be what the provider calls the job');
  return { kind: 'submitted', upstreamId };
}
