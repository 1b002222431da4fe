// Circles of folders inside an app. They are looked for apart from the rules of .dependency-cruiser.cjs, because a rule
// about folders counts every file in them, and specs may import from where they like.
const { options } = require('./.dependency-cruiser.cjs');

module.exports = {
  forbidden: [
    {
      name: 'no-folder-circles-in-apps',
      comment:
        'Folders that import each other, directly or through others, are one folder with several names: none can be read, moved or tested alone.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^(apps/[^/]+/src/[^/]+)(?:/|$)' },
      to: { circular: true, path: '^apps/[^/]+/src/[^/]+', pathNot: '^$1(?:/|$)' },
    },
  ],
  options: {
    ...options,
    exclude: { path: `${options.exclude.path}|\\.(spec|int-spec)\\.ts$|(^|/)testing/` },
  },
};
