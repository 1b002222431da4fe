const PATH = '/api/v1/videos';

/** A video job as shown to its workspace. Amounts are exact decimal strings in US dollars. */
export interface ShownVideo {
  readonly id: string;
  readonly status: 'pending' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'expired';
  readonly credentialId: string | null;
  readonly costUsd: string | null;
  /** The finished files; null before a copy is stored, after the copies have expired, and if none was stored. */
  readonly outputs: readonly object[] | null;
  /** When the copies expire, in Unix seconds; null if none was ever stored. */
  readonly outputsExpireAt: number | null;
  readonly errorMessage: string | null;
}

/** A job that ends, and how. */
export type EndedVideo = Pick<ShownVideo, 'id' | 'credentialId'> & { readonly model: string };
export type ShownEnd =
  | { readonly status: 'completed'; readonly outputs: readonly object[]; readonly costUsd: string }
  | { readonly status: 'failed' | 'cancelled' | 'expired'; readonly errorMessage: string };

/** A video job as callers see it. */
export function toVideoObject(video: ShownVideo, publicUrl: string): object {
  const isOver = video.status !== 'pending' && video.status !== 'in_progress';
  return {
    id: video.id,
    status: video.status,
    polling_url: `${PATH}/${video.id}`,
    ...(isOver && { generation_id: video.id }),
    ...(video.status === 'completed' && { usage: usageOf(video, video.costUsd) }),
    ...(video.outputs !== null && {
      unsigned_urls: linksTo(video, video.outputs, publicUrl),
      expires_at: video.outputsExpireAt,
    }),
    ...(video.errorMessage !== null && { error: video.errorMessage }),
  };
}

/** Returns the `data` of the webhook event that reports the end of a job. */
export function toVideoEventData(job: EndedVideo, end: ShownEnd, publicUrl: string): object {
  const named = { id: job.id, status: end.status, generation_id: job.id, model: job.model };
  if (end.status !== 'completed') return { ...named, error: end.errorMessage };
  return { ...named, unsigned_urls: linksTo(job, end.outputs, publicUrl), usage: usageOf(job, end.costUsd) };
}

function usageOf({ credentialId }: Pick<ShownVideo, 'credentialId'>, costUsd: string | null): object {
  return { cost: Number(costUsd ?? 0), is_byok: credentialId !== null };
}

function linksTo({ id }: Pick<ShownVideo, 'id'>, outputs: readonly object[], publicUrl: string): readonly string[] {
  return outputs.map((_output, index) => `${publicUrl}${PATH}/${id}/content?index=${index}`);
}
