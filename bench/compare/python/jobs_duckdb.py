"""The two jobs in DuckDB."""


def word_count(path):
    import duckdb

    return duckdb.sql(
        f"""
        select word, count(*) from (
            select unnest(string_split(line, ' ')) as word
            from read_csv('{path}', columns = {{'line': 'varchar'}}, header = false,
                          delim = '\\x01', quote = '', escape = '')
        ) where word <> '' group by word order by 2 desc, 1 limit 10
        """
    ).fetchall()


def mean_by_host(path):
    import duckdb

    return dict(
        duckdb.sql(
            f"""
            select host, avg(bytes) from read_csv('{path}', delim = ' ', header = false,
                columns = {{'host': 'varchar', 'page': 'varchar', 'status': 'int', 'bytes': 'bigint'}})
            group by host
            """
        ).fetchall()
    )
