import { setImmediate as nextRound } from 'node:timers/promises';
import type { VideoIntakeRepository, VideoView } from '@libs/persistence';
import type { OutboxRelay } from '@libs/platform';
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

describe(VideosService, () => {
  it('writes so many videos of one organization at once that others can be served', async () => {
    const [gate, writing] = [Promise.withResolvers<void>(), [] as string[]];
    const intake = {
      accept: async ({ organizationId }: VideoOwner): Promise<VideoView> => {
        writing.push(organizationId);
        if (organizationId === 'locked') await gate.promise;
        return { id: `of ${organizationId}` } as VideoView;
      },
    } as unknown as VideoIntakeRepository;
    const relay = { wake: () => undefined } as unknown as OutboxRelay;
    const service: VideosService = Object.create(VideosService.prototype);
    Object.assign(service, {
      intake,
      relay,
      turns: new IntakeTurns(),
      prepare: async (owner: VideoOwner) => owner,
    });

    const many = Array.from({ length: 20 }, () => service.submit(ownerOf('locked'), SUBMISSION));
    await nextRound();
    expect(writing).toEqual(Array(4).fill('locked'));
    expect(await service.submit(ownerOf('free'), SUBMISSION)).toEqual({ id: 'of free' });
    gate.resolve();
    expect(await Promise.all(many)).toEqual(Array(20).fill({ id: 'of locked' }));
  });
});
