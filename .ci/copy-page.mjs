// The playground's page is for the browser as it stands: what tsc leaves out of dist is copied.
import { cpSync } from 'node:fs';

const page = 'transport/playground/page';
cpSync(`src/${page}`, `dist/${page}`, { recursive: true, filter: (path) => !path.endsWith('tsconfig.json') });
