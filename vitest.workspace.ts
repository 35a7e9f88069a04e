export default ["packages/*/vitest.config.ts", "apps/*/vitest.config.ts"]
