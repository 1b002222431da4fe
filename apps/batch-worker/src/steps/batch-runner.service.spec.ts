import { Logger } from '@nestjs/common';
import { BatchRunnerService } from './batch-runner.service';

const OWNER = '0b8f0a1e-1111-4222-8333-444455556666';
const STRANGER = '0b8f0a1e-9999-4222-8333-444455556666';

describe(BatchRunnerService.name, () => {
  let validated: string[];
  let runner: BatchRunnerService;

  beforeEach(() => {
    Logger.overrideLogger(false);
    validated = [];
    const parts = {
      isOfWorkspace: async (_id: string, workspaceId: string) => workspaceId === OWNER,
      findStep: async () => null,
      validateIfDue: async (id: string) => void validated.push(id),
      wake: () => undefined,
      removeIfRequested: async () => undefined,
    } as never;
    runner = new BatchRunnerService(parts, parts, parts, parts, parts, parts);
  });

  it('takes the step that is due of the batch that a message names with its workspace', async () => {
    await runner.advance('batch-1', OWNER);
    expect(validated).toEqual(['batch-1']);
  });

  it('does so for a message that names no workspace, as those of an earlier release do', async () => {
    await runner.advance('batch-1');
    expect(validated).toEqual(['batch-1']);
  });

  it('leaves a batch alone that a message names with the workspace of another tenant', async () => {
    await runner.advance('batch-1', STRANGER);
    expect(validated).toEqual([]);
  });
});
