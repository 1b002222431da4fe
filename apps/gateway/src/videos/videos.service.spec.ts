import { setImmediate as nextRound } from 'node:timers/promises';
import type { VideoView } from '@libs/persistence';
import { IntakeTurns } from '../submissions/intake-turns';
import { VideosService, type VideoOwner, type VideoSubmission } from './videos.service';

const SUBMISSION = { dto: {}, idempotency: null } as unknown as VideoSubmission;

const ownerOf = (tenant: string): VideoOwner => ({
  workspaceId: tenant,
  organizationId: tenant,
  apiKeyHash: tenant,
  keyLimit: null,
  defaultCallbackUrl: null,
});

function serviceWith(intake: object): VideosService {
  const service: VideosService = Object.create(VideosService.prototype);
  return Object.assign(service as object, {
    intake,
    relay: { wake: () => undefined },
    turns: new IntakeTurns(),
    prepare: async (owner: VideoOwner) => owner,
  }) as unknown as VideosService;
}

describe(VideosService, () => {
  it('makes no video for a client that left while it waited', async () => {
    const accepted: string[] = [];
    const intake = {
      accept: async ({ organizationId }: VideoOwner) => void accepted.push(organizationId),
    };
    const service = serviceWith(intake);
    const signal = AbortSignal.abort();
    await expect(service.submit(ownerOf('w'), { ...SUBMISSION, signal })).rejects.toThrow('overloaded');
    expect(accepted).toEqual([]);
  });

  it('writes so many videos of one organization at once that others can be served', async () => {
    const [gate, writing] = [Promise.withResolvers<void>(), [] as string[]];
    const intake = {
      accept: async ({ organizationId }: VideoOwner): Promise<VideoView> => {
        writing.push(organizationId);
        if (organizationId === 'locked') await gate.promise;
        return { id: `of ${organizationId}` } as VideoView;
      },
    };
    const service = serviceWith(intake);

    const many = Array.from({ length: 20 }, () => service.submit(ownerOf('locked'), SUBMISSION));
    await nextRound();
    expect(writing).toEqual(Array(4).fill('locked'));
    expect(await service.submit(ownerOf('free'), SUBMISSION)).toEqual({ id: 'of free' });
    gate.resolve();
    expect(await Promise.all(many)).toEqual(Array(20).fill({ id: 'of locked' }));
  });
});
