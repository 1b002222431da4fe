import { unixSeconds } from '../http/ids';
import { isObject, parseJsonObject, requiredListMember, textOf } from '../http/json-members';
import { jsonReply, type Call, type Reply } from '../http/reply';
import { SandboxError } from '../http/sandbox-error';
import { readFields, stateOf, type VideoJob, type VideoJobs } from './video-jobs';

const STATUSES = { queued: 'queued', in_progress: 'running', completed: 'succeeded', failed: 'failed' } as const;
const MOST_PER_PAGE = 500;
const SHORT_SIDE = 720;
const TOKENS_PER_SECOND = 20_000;

/**
 * `/v1/contents/generations/tasks`: the same videos with the API of BytePlus ModelArk. It does not detect repeated
 * submissions, but its list shows the `safety_identifier` with which each task was created.
 */
export class VideoTasks {
  constructor(private readonly jobs: VideoJobs) {}

  create(call: Call): Reply {
    const body = parseJsonObject(call.body);
    const text = requiredListMember(body, 'content').find((part) => isObject(part) && part.type === 'text');
    const prompt = isObject(text) ? text.text : undefined;
    const fields = readFields(body.model, prompt, body.duration ?? 5, sizeOf(textOf(body.ratio)));
    const label = textOf(body.safety_identifier) || null;
    const begun = this.jobs.begin(fields, { idempotencyKey: null, label });
    return begun.kind === 'refused' ? begun.reply : jsonReply({ id: begun.job.id }, begun.playback);
  }

  list(call: Call): Reply {
    const [page, size] = [pageMember(call, 'page_num', 1), pageMember(call, 'page_size', 10)];
    const all = this.jobs.list();
    const items = all.slice((page - 1) * size, page * size).map((job) => describe(job, call));
    return jsonReply({ items, total: all.length });
  }

  show(call: Call): Reply {
    return jsonReply(describe(this.jobs.get(call.id), call));
  }
}

function describe(job: VideoJob, { headers }: Call): object {
  const { status } = stateOf(job);
  const error = { code: 'sandbox_failure', message: '[sandbox] The model name asked for a failed video' };
  const tokens = job.seconds * TOKENS_PER_SECOND;
  return {
    id: job.id,
    model: job.model,
    status: STATUSES[status],
    error: status === 'failed' ? error : null,
    created_at: unixSeconds(job.createdAtMs),
    duration: job.seconds,
    ...(job.label !== null && { safety_identifier: job.label }),
    ...(status === 'completed' && {
      content: { video_url: `http://${headers.host}/v1/videos/${job.id}/content` },
      usage: { completion_tokens: tokens, total_tokens: tokens },
    }),
  };
}

/** Returns the size for a ratio: `16:9` is 1280x720. */
function sizeOf(ratio: string): string {
  const [, across = 16, down = 9] = /^(\d{1,2}):(\d{1,2})$/.exec(ratio)?.map(Number) ?? [];
  const unit = SHORT_SIDE / Math.min(across, down);
  return `${Math.round(across * unit)}x${Math.round(down * unit)}`;
}

function pageMember({ query }: Call, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null) return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= MOST_PER_PAGE) return value;
  throw new SandboxError(400, `'${name}' must be an integer from 1 to ${MOST_PER_PAGE}`, name);
}
