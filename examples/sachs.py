"""PC with ACID on the Sachs data: 853 cells, 11 proteins."""

from causallearn.search.ConstraintBased.PC import pc

from acid_causal import acid, load_sachs

sachs = load_sachs()
names = list(sachs.columns)
found = pc(sachs.data, 0.05, indep_test=acid, node_names=names, show_progress=False)

skeleton = {
    frozenset((edge.get_node1().get_name(), edge.get_node2().get_name()))
    for edge in found.G.get_graph_edges()
}
consensus = {frozenset(edge) for edge in sachs.consensus_17}

for edge in found.G.get_graph_edges():
    print(edge)
print(f"{len(skeleton)} edges, {len(skeleton & consensus)} of them in the consensus network of 17")
