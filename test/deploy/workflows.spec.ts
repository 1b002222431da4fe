import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const root = join(__dirname, '../..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly steps: readonly Step[];
  readonly strategy?: { readonly matrix: { readonly include: readonly { project: string; shard: string }[] } };
}

interface Workflow {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (name: string): Workflow => parse(textOf(`.github/workflows/${name}.yml`)) as Workflow;
const workflow = read('ci');
const workflows = [workflow, read('long-tests')];
const scripts = (JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }).scripts;

describe('the workflow of continuous integration', () => {
  it('runs every project of jest once, in all of its parts', () => {
    const parts = workflow.jobs['test']!.strategy!.matrix.include;
    const names = ['integration', 'e2e', 'chaos', 'timed'];
    expect([...new Set(parts.map(({ project }) => project))]).toEqual(names);
    for (const name of names) {
      const shards = parts.filter(({ project }) => project === name).map(({ shard }) => shard);
      expect(shards).toEqual(shards.map((_, index) => `${index + 1}/${shards.length}`));
    }
    const checks = workflow.jobs['check']!.steps.map(({ run }) => run);
    expect(checks).toEqual(expect.arrayContaining(['npm run check', 'npm test -- --selectProjects unit']));
  });

  it('runs npm scripts that exist', () => {
    const jobs = workflows.flatMap(({ jobs }) => Object.values(jobs));
    const commands = jobs.flatMap(({ steps }) => steps.flatMap(({ run = [] }) => run));
    const names = commands.map((command) => /^npm (?:run )?([a-z-]+)/.exec(command)?.[1]);
    expect(names.filter((name) => name !== 'ci' && scripts[name ?? ''] === undefined)).toEqual([]);
  });

  it('may read the repository only', () => {
    for (const { permissions } of workflows) expect(permissions).toEqual({ contents: 'read' });
  });

  it('runs on the Node of the image', () => {
    const image = /^ARG NODE_IMAGE=node:([\d.]+)-/m.exec(textOf('Dockerfile'))?.[1];
    expect(textOf('.nvmrc').trim()).toBe(image);
  });
});
